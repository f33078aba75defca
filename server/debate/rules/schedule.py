"""Who is asked for what in a round, and in what order.

A round wants answers; each has its place (`Place`). The places stand in groups: those of a group are
asked at once, a group when everybody of the one before has answered or has been given up. Where
somebody chooses who speaks, the places follow from the choice, which is a fact of the debate.

    together     [A B C]
    declared     [A] [B] [C]
    moderated    [moderator opens] [the speakers chosen, one after the other, repeats allowed]
    handoff      [one speaker], who chooses the next round's
    messages     [A B C each write to one of the others] [each message is answered by whom it was for]
    ballots      [A B C]
    judges       [judge 1, judge 2 … each in one order or in both]
    synthesizer  [synthesizer]

After the turns of a round come, where there are such, [the referee] and [the moderator who closes it].
"""

from collections.abc import Sequence
from dataclasses import dataclass

from server.debate.facts.config import CALLER, MODERATOR, REFEREE, SYNTHESIZER, Phase
from server.debate.facts.events import Failed, FailureCause, Opened, Task
from server.debate.facts.interventions import ModelReplaced
from server.debate.facts.state import Debate, judge_seats, phase_seats

REPAIRABLE_CAUSES: frozenset[FailureCause] = frozenset({"empty", "unreadable"})
"""Bad replies, as opposed to failing providers: the same seat is asked once more, told what was wrong."""


@dataclass(frozen=True, slots=True)
class Slot:
    """An answer that a round wants. (seat, number) names it within the round."""

    seat: str
    index: int  # a judge's reading, 1 or 2; which of its answers it is for the others, from 0
    task: Task
    message_author: str = ""  # whose message it answers

    @property
    def key(self) -> tuple[str, int]:
        return self.seat, self.index


SlotGroups = tuple[tuple[Slot, ...], ...]

CLOSING_SLOT = Slot(MODERATOR, 1, "closing")


def build_slot_groups(debate: Debate) -> SlotGroups:
    """The places of this round, as far as they are settled."""
    phase = debate.phase
    if phase is None:
        return ()
    if phase.is_judgment:
        return (judge_slots(debate.setup),)
    if phase.participants == "synthesizer":
        return ((Slot(SYNTHESIZER, 0, "deliverable"),),)
    if phase.wants == "ballot":
        return (tuple(Slot(seat, 0, "ballot") for seat in phase_seats(debate.setup, phase)),)
    if phase.wants == "message":
        spoken = build_message_groups(debate)
        return (*spoken, *build_review_groups(debate.setup, spoken))
    return build_talk_groups(debate, phase)


def judge_slots(setup: Opened) -> tuple[Slot, ...]:
    numbers = (1, 2) if setup.judges.both_orders else (1,)
    return tuple(Slot(judge, number, "judgment") for number in numbers for judge in judge_seats(setup))


def build_message_groups(debate: Debate) -> SlotGroups:
    """Messages, then their answers. An answer's number is its asker's, whatever order messages arrive in."""
    asking = tuple(Slot(name, 0, "message") for name in debate.names)
    messages = [asked for asked, *_ in debate.round_exchanges(debate.round)]
    answers = tuple(
        Slot(turn.to, 1 + debate.names.index(turn.seat), "answer", message_author=turn.seat)
        for turn in messages
    )
    return apply_turn_limit(debate, (asking, answers))


def build_talk_groups(debate: Debate, phase: Phase) -> SlotGroups:
    """The turns of a round, with what the moderator and the referee do before and after them."""
    opening = ((Slot(MODERATOR, 0, "opening"),),)
    if phase.order == "moderated" and debate.round_plan(debate.round) is None:
        return opening
    spoken = apply_turn_limit(debate, build_turn_groups(debate, phase))
    before = opening if phase.order == "moderated" else ()
    return (*before, *spoken, *build_review_groups(debate.setup, spoken))


def build_review_groups(setup: Opened, turn_groups: SlotGroups) -> SlotGroups:
    """Who looks back on a round: the referee, where something was said, and the moderator."""
    audit = ((Slot(REFEREE, 0, "audit"),),) if setup.referee and turn_groups else ()
    closes = setup.moderator is not None and setup.moderator.closes
    return (*audit, (CLOSING_SLOT,)) if closes else audit


def build_turn_groups(debate: Debate, phase: Phase) -> SlotGroups:
    names = debate.names
    if phase.order == "together":
        return (tuple(Slot(name, 0, "argument") for name in names),)
    if phase.order == "handoff":
        names = debate.rounds[-1].order
    if opening := debate.round_plan(debate.round):
        names = opening.next_speakers
    return tuple((Slot(name, names[:index].count(name), "argument"),) for index, name in enumerate(names))


def apply_turn_limit(debate: Debate, groups: SlotGroups) -> SlotGroups:
    """As many of the places as the limit on turns leaves room for."""
    most = debate.max_turns
    if not most:
        return groups
    left = most - sum(turn.round < debate.round for turn in debate.turns)
    kept = []
    for group in groups:
        kept.append(group[: max(left, 0)])
        left -= len(group)
    return tuple(group for group in kept if group)


def round_slots(debate: Debate) -> tuple[Slot, ...]:
    return tuple(place for group in build_slot_groups(debate) for place in group)


def slot_failures(debate: Debate, slot_key: tuple[str, int]) -> tuple[Failed, ...]:
    """The failures of a place in this round that still count; resuming a paused debate forgives them."""
    return tuple(
        failure for failure in debate.round_failures if (failure.seat, failure.slot_index) == slot_key
    )


def is_exhausted(debate: Debate, slot_key: tuple[str, int]) -> bool:
    """Whether a place has failed for good in this round: its last model, and no other is left to ask."""
    failures = slot_failures(debate, slot_key)
    if not failures:
        return False
    if any(failure.cause == "late" for failure in failures):
        return True  # the others could not answer in time either
    nobody_left = all(
        (slot_key[0], model) in debate.failed_models for model in candidate_models(debate, slot_key[0])
    )
    return nobody_left and has_final_failure(failures)


def has_final_failure(failures: Sequence[Failed]) -> bool:
    """Whether the model that failed last is done with: its provider failed, or it answered badly twice."""
    last = [failure for failure in failures if failure.model == failures[-1].model]
    return len(last) > 1 or last[-1].cause not in REPAIRABLE_CAUSES


def is_open(debate: Debate, slot: Slot) -> bool:
    """Whether this answer is missing and would still be taken."""
    return slot.key not in debate.answered_slots and not is_exhausted(debate, slot.key)


def open_slots(debate: Debate) -> tuple[Slot, ...]:
    """The places whose answer is missing and whose turn it is."""
    if debate.ended:
        return ()
    for group in build_slot_groups(debate):
        if missing := tuple(place for place in group if is_open(debate, place)):
            return missing
    return ()


def verdict_source(setup: Opened) -> str:
    """Who makes the verdict: judges, moderator, ballots; "" where the talk itself is the result."""
    if setup.counting:
        return setup.counting
    if any(phase.is_judgment for phase in setup.phases):
        return "judges"
    if setup.moderator and setup.moderator.closes:
        return "moderator"
    return "ballots" if any(phase.wants == "ballot" for phase in setup.phases) else ""


def last_ballot_phase(setup: Opened) -> Phase | None:
    return next((phase for phase in reversed(setup.phases) if phase.wants == "ballot"), None)


def find_voters(setup: Opened) -> tuple[str, ...]:
    """The seats whose votes make the verdict; () where nobody votes."""
    match verdict_source(setup):
        case "judges":
            return judge_seats(setup)
        case "" | "moderator":
            return ()
        case _:
            last = last_ballot_phase(setup)
            return phase_seats(setup, last) if last else ()


def final_closing_slots(debate: Debate) -> tuple[Slot, ...]:
    """The moderator's closing, where a talk that is being concluded still needs it."""
    phase = debate.phase
    if debate.ended or not (debate.is_concluding and debate.turns and phase and phase.is_talk):
        return ()
    return (
        (CLOSING_SLOT,)
        if verdict_source(debate.setup) == "moderator" and is_open(debate, CLOSING_SLOT)
        else ()
    )


def is_talk_over(debate: Debate) -> bool:
    """Whether nobody will argue any more: what is left is to vote, to judge, to sum up."""
    phase = debate.phase
    if phase is None:
        return False
    here = debate.setup.phases.index(phase)
    over = debate.is_concluding or bool(debate.rounds[-1].because)
    return over or not any(later.is_talk for later in debate.setup.phases[here:])


def seat_models(setup: Opened) -> dict[str, str]:
    """Every seat with the model that it was given."""
    models = {debater.name: debater.model for debater in setup.debaters}
    models |= dict(zip(judge_seats(setup), setup.judges.models, strict=True))
    officers = {MODERATOR: setup.moderator, REFEREE: setup.referee, SYNTHESIZER: setup.synthesizer}
    return models | {name: officer.model for name, officer in officers.items() if officer}


def candidate_models(debate: Debate, seat: str) -> tuple[str, ...]:
    """The models that a seat may be asked of, the first while it answers. The caller is nobody's fallback."""
    replaced = [made.model for made in debate.find_interventions(ModelReplaced) if made.seat == seat]
    own = replaced[-1] if replaced else seat_models(debate.setup)[seat]
    fallback = () if own == CALLER else debate.setup.fallback_models
    return tuple(dict.fromkeys((own, *fallback)))


def current_model(debate: Debate, seat: str) -> str:
    """The model that a seat is asked of now: the first that has not failed it, or its own again."""
    there = candidate_models(debate, seat)
    return next((model for model in there if (seat, model) not in debate.failed_models), there[0])
