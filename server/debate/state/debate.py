"""The debate so far, folded from its events by `machine.transitions`."""

from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Any, Literal, TypeVar

from server.debate.facts import escalation
from server.debate.facts import interventions as changes
from server.debate.facts.advice import AdviceEvent
from server.debate.facts.answers import (
    MESSAGE_SLOT,
    DefaultPlanUsed,
    Digested,
    HandedOff,
    HandoffFailed,
    Measured,
    PassageRead,
    PredicateLost,
    PromptFunctionsLost,
    PromptsComputed,
    Reading,
    Remark,
    Researched,
    SlotFact,
    Usage,
)
from server.debate.facts.beliefs import Agreed, Alerted, Converged, VotingRule
from server.debate.facts.events import (
    AnsweredBlind,
    AnswerEvent,
    Balloted,
    BlockEnded,
    Compared,
    Concluded,
    Ended,
    Failed,
    Judged,
    Paused,
    PhaseEntered,
    PositionsFramed,
    RoundClosed,
    RoundOpened,
    Spoke,
    Synthesized,
)
from server.debate.facts.interventions import Challenged, NoteAdded
from server.debate.facts.setup.limits import Breakpoint, Limits, Price
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.phases import Phase
from server.debate.facts.setup.seats import READER, Debater

RoundPlan = RoundOpened | DefaultPlanUsed
TranscriptEvent = RoundPlan | Spoke | NoteAdded | Challenged | Remark | RoundClosed
"""What prompts show of a round."""

T = TypeVar("T")
R = TypeVar("R", bound=Reading)


@dataclass(frozen=True)
class Debate:
    opened: Opened  # the first fact: it never changes
    changed_setup: Opened | None = None  # what `transitions.change_setup` made of it since
    version: int = 1  # number of events
    blind_answers: tuple[AnsweredBlind, ...] = ()
    framed: PositionsFramed | None = None
    digests: tuple[Digested, ...] = ()
    passages: tuple[PassageRead, ...] = ()
    rounds: tuple[PhaseEntered, ...] = ()
    transcript_events: tuple[TranscriptEvent, ...] = ()  # in the order recorded
    turns: tuple[Spoke, ...] = ()  # those of them that are turns
    round_starts: tuple[int, ...] = ()  # how many of them there were before each round
    notes: tuple[NoteAdded | Challenged, ...] = ()  # those that are notes and challenges
    note_versions: tuple[int, ...] = ()  # the version that each of them made
    ended_blocks: tuple[BlockEnded, ...] = ()
    predicate_lost: PredicateLost | None = None
    prompt_functions_lost: PromptFunctionsLost | None = None
    computed_prompts: tuple[PromptsComputed, ...] = ()
    handoffs: tuple[HandedOff, ...] = ()
    handoff_failures: tuple[HandoffFailed, ...] = ()
    research: tuple[Researched, ...] = ()
    research_versions: tuple[int, ...] = ()  # the version that each of them made
    readings: tuple[Reading, ...] = ()  # of the seats in `debate.seats`
    measurements: tuple[Measured, ...] = ()
    advice: tuple[AdviceEvent, ...] = ()  # of the answer format
    ballots: tuple[Balloted, ...] = ()  # without samples
    samples: tuple[Balloted, ...] = ()  # of the baseline
    convergence: tuple[Converged, ...] = ()
    alerts: tuple[Alerted, ...] = ()
    judgments: tuple[Judged, ...] = ()
    comparison: Compared | None = None  # of what judges advise of their own
    superseded: tuple[Judged | Balloted | Compared, ...] = ()  # from before a retraction, asked again
    retracted_at: int = 0  # the version that the last retraction made
    deliverable: Synthesized | None = None
    failures: tuple[Failed, ...] = ()
    answered_slots: frozenset[tuple[str, int]] = frozenset()  # (seat, slot_index), in this round
    round_failures: tuple[Failed, ...] = ()  # those of this round that count against a seat
    interventions: tuple[changes.InterventionFact, ...] = ()
    failed_models: frozenset[tuple[str, str]] = frozenset()  # (seat, model)
    unheard: frozenset[str] = frozenset()  # debaters without a turn for whom the debate has paused
    paused: Paused | None = None
    passed_breakpoints: frozenset[tuple[Breakpoint, str]] = frozenset()  # each with what it held for
    agreements: tuple[Agreed, ...] = ()
    mirror_opened: escalation.MirrorOpened | None = None
    mirror: escalation.MirrorHeld | escalation.MirrorSkipped | None = None
    verdict: Concluded | None = None
    ended: Ended | None = None
    cache: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """What was found in finished rounds (`by_round`, `prompts.transcript`), each beside all that it was made of."""

    @cached_property
    def setup(self) -> Opened:
        """The set-up in force: as opened, with what facts have changed of it. A fork is opened with it.

        Rounds, limits, weights, tags and models that interventions change are no part of it: those facts are taken over
        by a fork. What is in force of them, the properties below and `seats.find_own_models` say.
        """
        return self.changed_setup or self.opened

    @cached_property
    def known(self) -> dict[Any, Any]:
        """What functions under `once` returned for this version."""
        return {}

    def find_interventions(self, kind: type[T]) -> list[T]:
        return [fact for fact in self.interventions if isinstance(fact, kind)]

    def find_readings(self, kind: type[R]) -> tuple[R, ...]:
        return tuple(fact for fact in self.readings if isinstance(fact, kind))

    @cached_property
    def is_concluding(self) -> bool:
        return bool(self.find_interventions(changes.TalkConcluded))

    @property
    def is_unattended(self) -> bool:
        """Whether it runs to its end without being stepped."""
        return self.setup.run or self.is_concluding

    @property
    def round(self) -> int:
        return len(self.rounds)

    @cached_property
    def max_rounds(self) -> int:
        return self.setup.max_rounds + sum(m.rounds for m in self.find_interventions(changes.RoundsExtended))

    @cached_property
    def max_turns(self) -> int:
        """0 for as many as the rounds have. A round of hand-offs is one turn, so both are extended alike."""
        return self.setup.max_turns and self.setup.max_turns + self.max_rounds - self.setup.max_rounds

    @cached_property
    def limits(self) -> Limits:
        facts = self.find_interventions(changes.LimitsChanged)
        return facts[-1].limits if facts else self.setup.limits

    @cached_property
    def prices(self) -> tuple[Price, ...]:
        """Of every model that may be called, models that replaced another included."""
        added_prices = (fact.price for fact in self.find_interventions(changes.ModelReplaced))
        return (*self.setup.prices, *filter(None, added_prices))

    @cached_property
    def windows(self) -> dict[str, int]:
        """Tokens by model, where known."""
        replacements = self.find_interventions(changes.ModelReplaced)
        windows = {window.model: window.tokens for window in self.setup.windows}
        return windows | {fact.model: fact.window for fact in replacements if fact.window}

    @cached_property
    def weights(self) -> dict[str, Fraction]:
        """The weight of each vote where it is not 1."""
        changes_of_weights = (fact.weights for fact in self.find_interventions(changes.WeightsChanged))
        weights = (*self.setup.weights, *chain.from_iterable(changes_of_weights))
        return {weight.seat: Fraction(weight.weight) for weight in weights}

    @cached_property
    def threshold(self) -> Fraction | None:
        """The share of the votes' weight that a position needs; None for a majority."""
        facts = self.find_interventions(changes.ThresholdChanged)
        return Fraction(facts[-1].threshold) if facts else None

    @cached_property
    def outcome(self) -> changes.OutcomeRecorded | None:
        """Which position turned out right, as far as anybody has said so; the latest word counts."""
        facts = self.find_interventions(changes.OutcomeRecorded)
        return facts[-1] if facts else None

    @cached_property
    def tags(self) -> tuple[str, ...]:
        return changes.collect_tags(self.setup.tags, self.interventions)

    @cached_property
    def voting(self) -> VotingRule | None:
        """The rule of consensus in force, where the set-up has one: with the threshold that was set last."""
        rule, threshold = self.setup.voting, self.threshold
        if rule is None or threshold is None:
            return rule
        return rule.model_copy(update={"kind": "supermajority", "threshold": str(threshold), "strict": False})

    @cached_property
    def retracted_turns(self) -> frozenset[tuple[str, int, int]]:
        """(seat, round, slot_index) of the turns that prompts leave out."""
        retractions = self.find_interventions(changes.TurnRetracted)
        keys = {(fact.seat, fact.turn_round, fact.slot_index) for fact in retractions}
        turns_with_message = (turn for turn in self.turns if retractions and turn.message)
        turns = (t for t in turns_with_message if (t.seat, t.round, t.slot_index) in keys)
        return frozenset(keys | {(turn.seat, turn.round, MESSAGE_SLOT) for turn in turns})

    @cached_property
    def seat_prompts(self) -> dict[str, str]:
        """What functions of the caller's code wrote last, by seat."""
        return {prompt.seat: prompt.text for fact in self.computed_prompts for prompt in fact.prompts}

    def is_active(self, turn: Spoke | AdviceEvent) -> bool:
        """Whether a turn, or an advice, was not retracted."""
        return (turn.seat, turn.round, turn.slot_index) not in self.retracted_turns

    @cached_property
    def active_turns(self) -> tuple[Spoke, ...]:
        """Those that were not retracted."""
        return tuple(filter(self.is_active, self.turns)) if self.retracted_turns else self.turns

    @cached_property
    def phase(self) -> Phase | None:
        return self.round_phase(self.round) if self.rounds else None

    def round_phase(self, round_number: int) -> Phase:
        return find_phase(self.setup, self.rounds[round_number - 1].phase)

    @cached_property
    def talk_rounds(self) -> tuple[int, ...]:
        phases = {phase.name for phase in self.setup.phases if phase.is_talk}
        return tuple(entry.round for entry in self.rounds if entry.phase in phases)

    @property
    def talk_round_count(self) -> int:
        return len(self.talk_rounds)

    @cached_property
    def held_round_count(self) -> int:
        """Number of rounds of talk, without a last one that was concluded before anybody spoke in it."""
        talk = self.talk_rounds
        is_empty = self.is_concluding and talk and all(turn.round != talk[-1] for turn in self.turns)
        return len(talk) - bool(is_empty)

    @cached_property
    def round_plans(self) -> tuple[RoundPlan, ...]:
        return tuple(fact for fact in self.transcript_events if isinstance(fact, RoundPlan))

    @cached_property
    def round_summaries(self) -> tuple[RoundClosed, ...]:
        return tuple(fact for fact in self.transcript_events if isinstance(fact, RoundClosed))

    def events_since(self, round_number: int) -> tuple[TranscriptEvent, ...]:
        """What the transcript holds of this round and those after it."""
        return self.transcript_events[self.round_starts[round_number - 1] :]

    def round_events(self, round_number: int) -> tuple[TranscriptEvent, ...]:
        """What the transcript holds of a round, in the order recorded; of round 1 also what came before it."""
        start = self.round_starts[round_number - 1] if round_number > 1 else 0
        end = self.round_starts[round_number] if round_number < self.round else None
        return self.transcript_events[start:end]

    def round_notes(self, round_number: int) -> list[tuple[NoteAdded | Challenged, int]]:
        """The notes of a round, each with the version that it made; in round 1 also those from before it."""
        notes = zip(self.notes, self.note_versions, strict=True)
        return [(note, version) for note, version in notes if max(note.round, 1) == round_number]

    def round_plan(self, round_number: int) -> RoundPlan | None:
        return next((fact for fact in self.round_events(round_number) if isinstance(fact, RoundPlan)), None)

    def round_turns(self, round_number: int) -> tuple[Spoke, ...]:
        """The turns of a round in reading order, whatever order they arrived in."""
        order = self.rounds[round_number - 1].order
        turns = (fact for fact in self.round_events(round_number) if isinstance(fact, Spoke))
        return tuple(sorted(turns, key=lambda turn: (order.index(turn.seat), turn.slot_index)))

    def round_exchanges(self, round_number: int) -> tuple[tuple[Spoke, ...], ...]:
        """The messages of a round in reading order, each with its answer if there is one."""
        turns = self.round_turns(round_number)
        answers = {(turn.to, turn.seat): (turn,) for turn in turns if turn.act == "answer"}
        messages = (
            turn.find_message() if turn.message else turn
            for turn in turns
            if turn.message or turn.act not in ("argument", "answer")
        )
        return tuple((message, *answers.get((message.seat, message.to), ())) for message in messages)

    def transcript_turns(self, round_number: int) -> tuple[Spoke, ...]:
        """The arguments of a round, as recorded where they answer each other, else in reading order; then messages."""
        together = self.round_phase(round_number).order == "together"
        facts = self.round_turns(round_number) if together else self.round_events(round_number)
        arguments = (fact for fact in facts if isinstance(fact, Spoke) and fact.act == "argument")
        return (*arguments, *chain.from_iterable(self.round_exchanges(round_number)))

    def round_ballots(self, round_number: int) -> tuple[Balloted, ...]:
        """The ballots of a round in the order of the seats, whatever order they arrived in; private ones last."""
        seats = (*self.names, *judge_seats(self.setup))
        cast = [ballot for ballot in self.ballots if ballot.round == round_number]
        return tuple(sorted(cast, key=lambda ballot: (ballot.slot_index, seats.index(ballot.seat))))

    @cached_property
    def private_ballots(self) -> tuple[Balloted, ...]:
        """Those that decide nothing by themselves, in the order of rounds, waves and seats."""
        rounds = range(1, self.round + 1)
        return tuple(b for number in rounds for b in self.round_ballots(number) if b.wave != "vote")

    def round_votes(self, round_number: int) -> tuple[Balloted, ...]:
        """Those of them that are counted."""
        return tuple(ballot for ballot in self.round_ballots(round_number) if ballot.wave == "vote")

    @cached_property
    def votes(self) -> tuple[tuple[Balloted, ...], ...]:
        """The ballots of each vote that was held, those that are counted."""
        round_numbers = (entry.round for entry in self.rounds if self.round_phase(entry.round).is_vote)
        return tuple(map(self.round_votes, round_numbers))

    @cached_property
    def last_ballots(self) -> tuple[Balloted, ...]:
        return self.votes[-1] if self.votes else ()

    def debater(self, name: str) -> Debater:
        return next(debater for debater in self.setup.debaters if debater.name == name)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The debaters' names, in the order declared."""
        return tuple(debater.name for debater in self.setup.debaters)

    @cached_property
    def answers(self) -> tuple[AnswerEvent, ...]:
        """Every answer, those of the inherited rounds of a fork included."""
        answers = (event for event in self.transcript_events if isinstance(event, AnswerEvent))
        contributions = (event for event in answers if not isinstance(event, Remark))  # they are readings
        single = (answer for answer in (self.framed, self.comparison, self.deliverable) if answer)
        return (
            *self.digests,
            *self.blind_answers,
            *contributions,
            *self.readings,
            *self.measurements,
            *self.advice,
            *self.ballots,
            *self.samples,
            *self.judgments,
            *self.superseded,
            *single,
        )

    @cached_property
    def all_failures(self) -> tuple[Failed | HandoffFailed, ...]:
        return (*self.failures, *self.handoff_failures)

    @cached_property
    def usage(self) -> tuple[Usage, ...]:
        """Of every answer that this debate paid for, unusable ones included, inherited ones not."""
        paid_facts = (*self.answers, *self.research, *self.failures)
        own = (self.setup.usage, *(fact.usage for fact in paid_facts if self.is_own(fact)))
        return tuple(usage for usage in own if usage is not None)

    @property
    def reused_turn_count(self) -> int:
        """Turns that are answers of other debates to the same request."""
        return sum(bool(turn.usage.reused_from) for turn in self.turns)

    def is_own(self, fact: SlotFact) -> bool:
        """Whether a call was made in this debate, and is not inherited with the rounds of a fork."""
        taken_over = self.setup.forked_at_round
        return fact.round > taken_over or not (fact.round or (taken_over and fact.seat == READER))


FIELD_NAMES = frozenset(each.name for each in fields(Debate))


def replace(debate: Debate, **changes: Any) -> Debate:
    """As `dataclasses.replace`, which takes twenty times as long on so many fields of a frozen class."""
    assert changes.keys() <= FIELD_NAMES, changes
    copy = object.__new__(Debate)
    values = copy.__dict__
    values.update(debate.__dict__)  # the fields first, then what was computed from them
    for name in [*values][len(FIELD_NAMES) :]:
        del values[name]
    values.update(changes)
    return copy


def find_phase(setup: Opened, name: str) -> Phase:
    return next(phase for phase in setup.phases if phase.name == name)


def judge_seats(setup: Opened) -> tuple[str, ...]:
    """The seats of judges, or of the voters in an audience, in order."""
    return tuple(f"{name_judge(setup)} {number}" for number in range(1, len(setup.judges.models) + 1))


def name_judge(setup: Opened) -> Literal["judge", "voter"]:
    """What to call a judge: a voter in an audience, which votes and gives no verdict."""
    tasks = {phase.wants for phase in setup.phases if phase.participants == "judges"}
    return "voter" if tasks == {"ballot"} else "judge"
