"""The debate so far, as its facts tell it. How facts change it stands in `transitions`."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

from server.debate.facts.config import Debater, Limits, Phase, Price
from server.debate.facts.events import (
    Audited,
    Balloted,
    Concluded,
    Ended,
    Failed,
    HandedOff,
    Intervened,
    Judged,
    Opened,
    Paused,
    PhaseEntered,
    Researched,
    RoundClosed,
    RoundOpened,
    Spoke,
    Synthesized,
    Usage,
)

TranscriptEvent = RoundOpened | Spoke | Intervened | Audited | RoundClosed
"""What stands in the record of a round."""


@dataclass(frozen=True, slots=True)
class Debate:
    setup: Opened
    version: int = 1  # how many events it has seen
    rounds: tuple[PhaseEntered, ...] = ()
    transcript_events: tuple[TranscriptEvent, ...] = ()  # as it was recorded
    handoffs: tuple[HandedOff, ...] = ()
    research: tuple[Researched, ...] = ()
    ballots: tuple[Balloted, ...] = ()
    judgments: tuple[Judged, ...] = ()
    deliverable: Synthesized | None = None
    failures: tuple[Failed, ...] = ()
    answered_slots: frozenset[tuple[str, int]] = (
        frozenset()
    )  # (seat, number) of the places that answered in this round
    round_failures: tuple[Failed, ...] = ()  # the failures of this round that keep a seat from being asked
    interventions: tuple[
        Intervened, ...
    ] = ()  # what was changed on the way: rounds, weights, models, retractions
    failed_models: frozenset[tuple[str, str]] = frozenset()  # (seat, model) whose provider failed it
    paused: Paused | None = None
    is_concluding: bool = False
    verdict: Concluded | None = None
    ended: Ended | None = None

    @property
    def round(self) -> int:
        return len(self.rounds)

    @property
    def max_rounds(self) -> int:
        """As agreed, and as extended since."""
        return self.setup.max_rounds + sum(made.rounds for made in self.interventions)

    @property
    def max_turns(self) -> int:
        """0 for as many as the rounds have; a round of hand-offs is a turn, so that they grow together."""
        most = self.setup.max_turns
        return most and most + sum(made.rounds for made in self.interventions)

    @property
    def limits(self) -> Limits:
        """As agreed, or as last extended."""
        extended = [made.limits for made in self.interventions if made.limits is not None]
        return extended[-1] if extended else self.setup.limits

    @property
    def prices(self) -> tuple[Price, ...]:
        """Of every model that may be asked, those that took a seat on the way included."""
        return (*self.setup.prices, *(made.price for made in self.interventions if made.price is not None))

    @property
    def weights(self) -> dict[str, Fraction]:
        """How much each vote counts where that is not 1."""
        changed = (weight for made in self.interventions for weight in made.weights)
        return {weight.seat: Fraction(weight.weight) for weight in changed}

    @property
    def threshold(self) -> Fraction | None:
        """The share of the votes' weight that a position needs; None for a majority."""
        asked = [made.threshold for made in self.interventions if made.threshold]
        return Fraction(asked[-1]) if asked else None

    @property
    def retracted_turns(self) -> frozenset[tuple[str, int, int]]:
        """The turns that were taken back: (seat, round, which of its turns in it). The record keeps them."""
        return frozenset(
            (made.to, *made.retracted) for made in self.interventions if made.action == "retract"
        )

    def is_active(self, turn: Spoke) -> bool:
        """Whether a turn was not retracted."""
        return (turn.seat, turn.round, turn.slot_index) not in self.retracted_turns

    @property
    def phase(self) -> Phase | None:
        return self.round_phase(self.round) if self.rounds else None

    def round_phase(self, round_number: int) -> Phase:
        name = self.rounds[round_number - 1].phase
        return next(phase for phase in self.setup.phases if phase.name == name)

    @property
    def talk_round_count(self) -> int:
        return sum(self.round_phase(entered.round).is_talk for entered in self.rounds)

    @property
    def held_round_count(self) -> int:
        """Those of the talk, without a last one that was concluded before anybody spoke in it."""
        talked = [entered.round for entered in self.rounds if self.round_phase(entered.round).is_talk]
        unspoken = self.is_concluding and talked and all(turn.round != talked[-1] for turn in self.turns)
        return len(talked) - bool(unspoken)

    @property
    def turns(self) -> tuple[Spoke, ...]:
        return tuple(fact for fact in self.transcript_events if isinstance(fact, Spoke))

    @property
    def notes(self) -> tuple[Intervened, ...]:
        return tuple(fact for fact in self.transcript_events if isinstance(fact, Intervened))

    @property
    def round_plans(self) -> tuple[RoundOpened, ...]:
        return tuple(fact for fact in self.transcript_events if isinstance(fact, RoundOpened))

    @property
    def round_summaries(self) -> tuple[RoundClosed, ...]:
        return tuple(fact for fact in self.transcript_events if isinstance(fact, RoundClosed))

    @property
    def audits(self) -> tuple[Audited, ...]:
        return tuple(fact for fact in self.transcript_events if isinstance(fact, Audited))

    def round_plan(self, round_number: int) -> RoundOpened | None:
        return next((opened for opened in self.round_plans if opened.round == round_number), None)

    def round_turns(self, round_number: int) -> tuple[Spoke, ...]:
        """The turns of a round in the order in which they are read, whatever order they arrived in."""
        order = self.rounds[round_number - 1].order
        turns = [turn for turn in self.turns if turn.round == round_number]
        return tuple(sorted(turns, key=lambda turn: (order.index(turn.seat), turn.slot_index)))

    def round_exchanges(self, round_number: int) -> tuple[tuple[Spoke, ...], ...]:
        """The messages of a round as they are read, each with its answer if there is one."""
        turns = self.round_turns(round_number)
        return tuple(
            (asked, *(t for t in turns if t.act == "answer" and (t.seat, t.to) == (asked.to, asked.seat)))
            for asked in turns
            if asked.act != "answer"
        )

    def transcript_turns(self, round_number: int) -> tuple[Spoke, ...]:
        """The turns of a round: as spoken where one answered another, in reading order where none did."""
        phase = self.round_phase(round_number)
        if phase.wants == "message":
            return tuple(chain.from_iterable(self.round_exchanges(round_number)))
        if phase.order == "together":
            return self.round_turns(round_number)
        return tuple(turn for turn in self.turns if turn.round == round_number)

    def round_ballots(self, round_number: int) -> tuple[Balloted, ...]:
        """The ballots of a round in the order of the debaters, whatever order they arrived in."""
        cast = [ballot for ballot in self.ballots if ballot.round == round_number]
        return tuple(sorted(cast, key=lambda ballot: self.names.index(ballot.seat)))

    @property
    def last_ballots(self) -> tuple[Balloted, ...]:
        """Those of the last vote that was held."""
        voting = [
            entered.round for entered in self.rounds if self.round_phase(entered.round).wants == "ballot"
        ]
        return self.round_ballots(voting[-1]) if voting else ()

    def debater(self, name: str) -> Debater:
        return next(debater for debater in self.setup.debaters if debater.name == name)

    @property
    def names(self) -> tuple[str, ...]:
        """The debaters' names, in the order declared."""
        return tuple(debater.name for debater in self.setup.debaters)

    @property
    def usage(self) -> tuple[Usage, ...]:
        """Every answer that this debate paid for, the useless ones too; not those it was forked with."""
        spoken = (fact for fact in self.transcript_events if not isinstance(fact, Intervened))
        result = () if self.deliverable is None else (self.deliverable,)
        paid = (*spoken, *self.research, *self.ballots, *self.judgments, *result, *self.failures)
        own = (fact for fact in paid if fact.round > self.setup.forked_at_round)
        return tuple(fact.usage for fact in own if fact.usage is not None)


def judge_seats(setup: Opened) -> tuple[str, ...]:
    """The judges' seats, in order. Debaters cannot take these names."""
    return tuple(f"judge {number}" for number in range(1, len(setup.judges.models) + 1))
