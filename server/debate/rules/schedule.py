"""The schedule of a round: which seats are called for what, and in what order.

A round has slots, one for each answer. Slots form groups: the slots of a group are called together, and a
group starts when each slot of the previous one is answered or exhausted. Where somebody chooses the
speakers, the slots follow from that choice, which is an event of the debate.

    before       [the reader, for each section of a long document] [blind answers] [framer], before the first round
    together     [A B C]
    declared     [A] [B] [C]
    moderated    [moderator opens] [the speakers chosen, one after the other, repeats allowed]
    handoff      [one speaker], who chooses the next round's
    messages     [A, B and C each send a message] [each addressee answers]; beside turns: [their answers] after them
    ballots      [A B C], or an audience [voter 1, voter 2 …]
    judges       [judge 1, judge 2 …], and where that leaves a doubt [all again, turned]; one alone reads twice at once;
                 then, where a finding hangs on it, [one judge: whether advice of their own is the same]
    synthesizer  [synthesizer]
    advice       [all advisors], [all reviewers, each as often as it reads], [those who differ], [writer], [checker]
    baseline     [A B C, and again, until the tokens of the debate are spent]

Where all ballots of a round choose the same, a model may be asked with them whether their positions are [alike].
Private ballots (`waves`) come before the first turns, after the turns of a round, and with those who decide.

After the turns of a round follow [the officers] and [closing moderator], where the debate has them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import TypeVar, assert_never

from server.debate.answer.debates import list_advice_slots
from server.debate.ballots.convergence import wants_measurement
from server.debate.ballots.samples import MOST_SAMPLES, count_debate_tokens, count_samples, count_usage
from server.debate.ballots.waves import (
    BLIND_BALLOT,
    LATER_BALLOT,
    SAMPLE_BALLOT,
    is_private_ballot,
    list_blind_voters,
    list_later_voters,
)
from server.debate.facts.answers import MESSAGE_SLOT, Usage
from server.debate.facts.causes import FailureCause
from server.debate.facts.events import NO_POSITION, Balloted, Failed, RoundOpened, Spoke, Task
from server.debate.facts.setup.phases import Phase
from server.debate.facts.setup.seats import (
    FRAMER,
    METER,
    MODERATOR,
    READER,
    SYNTHESIZER,
    WRITTEN,
    Framer,
)
from server.debate.state.debate import Debate, RoundPlan, judge_seats
from server.debate.state.memo import once
from server.debate.state.seats import (
    candidate_models,
    current_model,
    find_own_models,
    list_blind_models,
    phase_seats,
)
from server.debate.votes.panel import list_own_readings, list_wanted_readings, wants_comparison
from server.debate.votes.voters import ORDERS, list_first_readings, verdict_source

REPAIRABLE_CAUSES: frozenset[FailureCause] = frozenset({"empty", "unreadable"})
"""Bad replies. The same model is called once more with a correction; failing providers are not."""

BAD_REPLY_CAUSES: frozenset[FailureCause] = REPAIRABLE_CAUSES | {"thought_too_long"}
"""Replies that are no answer, of models whose providers are well."""


@dataclass(frozen=True, slots=True)
class Slot:
    """An answer that a round needs; (seat, index) identifies it within the round."""

    seat: str
    index: int  # a judge's reading, 1 or 2; for other seats the number of the answer, from 0
    task: Task
    message_author: str = ""  # the debater whose message it answers
    model: str = ""  # that answers it, where it is not that of the seat

    @property
    def key(self) -> tuple[str, int]:
        return self.seat, self.index


SlotGroups = tuple[tuple[Slot, ...], ...]
T = TypeVar("T")

FRAMING_SLOT = Slot(FRAMER, 0, "framing")
CLOSING_SLOT = Slot(MODERATOR, 1, "closing")
COMPARISON_SLOT = 3
"""The slot index of a judge's model that compares advice: behind its readings."""


@once
def build_slot_groups(debate: Debate) -> SlotGroups:
    """The slots of this round that are known so far."""
    phase = debate.phase
    if phase is None:
        sections = debate.setup.reader.sections if debate.setup.reader else ()
        digests = tuple(Slot(READER, index, "digest") for index in range(len(sections)))
        framer = debate.setup.framer if debate.setup.needs_framing else None
        framing = (list_blind_slots(framer), (FRAMING_SLOT,)) if framer else ()
        return tuple(filter(None, (digests, *framing)))
    if phase.is_advice:
        return tuple(tuple(Slot(*slot) for slot in group) for group in list_advice_slots(debate, phase))
    blind = tuple(Slot(name, BLIND_BALLOT, "ballot") for name in list_blind_voters(debate))
    groups = build_talk_groups(debate, phase) if phase.is_talk else build_deciding_groups(debate, phase)
    if blind and phase.order == "together" and not has_to_wait(debate):
        return ((*blind, *groups[0]), *groups[1:])
    return (blind, *groups) if blind else groups


def list_blind_slots(framer: Framer) -> tuple[Slot, ...]:
    """The answers of which positions are made: each of a model of its own, which nobody else stands in for."""
    models = list_blind_models(framer)
    return tuple(Slot(FRAMER, n, "blind_answer", model=model) for n, model in enumerate(models, start=1))


def is_blind_answer(slot_key: tuple[str, int]) -> bool:
    return slot_key[0] == FRAMER and slot_key != FRAMING_SLOT.key


def has_to_wait(debate: Debate) -> bool:
    """Whether round 1 begins only with all blind ballots, because a caller writes one by one."""
    return not WRITTEN.isdisjoint(current_model(debate, name) for name in debate.names)


def build_deciding_groups(debate: Debate, phase: Phase) -> SlotGroups:
    """Whoever votes, judges or writes the result, and whoever is asked in private at the same time."""
    private = tuple(Slot(name, LATER_BALLOT, "ballot") for name in list_later_voters(debate))
    if phase.is_judgment:
        first, *later = build_judge_groups(debate)
        return ((*first, *private), *later)
    if phase.participants == "synthesizer":
        return ((Slot(SYNTHESIZER, 0, "deliverable"), *private),)
    if phase.is_private:
        return (private,) if private else ()
    if phase.is_baseline:
        return (list_sample_slots(debate),)
    return ((*(Slot(seat, 0, "ballot") for seat in phase_seats(debate.setup, phase)), *private),)


def list_sample_slots(debate: Debate) -> tuple[Slot, ...]:
    """The samples of the baseline that are asked for so far. A caller has no model to be asked again."""
    voters = [name for name in debate.names if find_own_models(debate)[name] not in WRITTEN]
    places = [divmod(number, len(voters)) for number in range(MOST_SAMPLES)] if voters else []
    slots = [Slot(voters[seat], SAMPLE_BALLOT + index, "ballot") for index, seat in places]
    usages: dict[tuple[str, int], list[Usage | None]] = {}
    paid_facts: tuple[Balloted | Failed, ...] = (*debate.samples, *debate.failures)
    for fact in paid_facts:
        usages.setdefault((fact.seat, fact.slot_index), []).append(fact.usage)
    # What the samples so far took says how many more the tokens of the debate pay for.
    slots_begun = takewhile(lambda slot: slot.key in usages, slots)
    costs = [None if is_open(debate, slot) else count_usage(usages[slot.key]) for slot in slots_begun]
    return tuple(slots[: count_samples(costs, len(voters), count_debate_tokens(debate))])


def count_turns(debate: Debate) -> int:
    """Number of turns of the whole talk, if it does not end early: without messages and their answers."""
    seats = len(debate.setup.debaters)
    return debate.max_turns or debate.max_rounds * seats


def build_judge_groups(debate: Debate) -> SlotGroups:
    """The first readings; those that are asked for where they leave a doubt; whether what judges advise is the same."""
    setup = debate.setup
    judges, both_orders = judge_seats(setup), setup.judges.both_orders
    first = list_judge_slots(list_first_readings(judges, both_orders=both_orders))
    if any(is_open(debate, slot) for slot in first):
        return (first,)
    wanted = list_wanted_readings(debate)
    asked = list_judge_slots({judge: wanted[judge] for judge in judges})
    second = tuple(slot for slot in asked if slot not in first)
    groups = (first, second) if second else (first,)
    if any(is_open(debate, slot) for slot in second) or not wants_comparison(debate):
        return groups
    return (*groups, (Slot(list_own_readings(debate)[0].seat, COMPARISON_SLOT, "comparison"),))


def list_judge_slots(readings: Mapping[str, Sequence[int]]) -> tuple[Slot, ...]:
    return tuple(Slot(judge, number, "judgment") for judge, numbers in readings.items() for number in numbers)


def list_answer_slots(debate: Debate, first_index: int) -> tuple[Slot, ...]:
    """The answers to the messages of this round. An index follows from the sender, not from the order of arrival."""
    messages = [message for message, *_ in debate.round_exchanges(debate.round)]
    indexes = (first_index + debate.names.index(message.seat) for message in messages)
    return tuple(
        Slot(message.to, index, "answer", message_author=message.seat)
        for message, index in zip(messages, indexes, strict=True)
    )


def may_send(debate: Debate, seat: str) -> bool:
    """Whether a debater may send a message with its turn: one a round, where the phase allows that."""
    allows = debate.phase is not None and debate.phase.messages
    return allows and not any(turn.message for turn in debate.round_turns(debate.round) if turn.seat == seat)


def find_plan_problem(debate: Debate, event: RoundPlan) -> str:
    """Why a round cannot be opened so; "" where it can."""
    phase = debate.phase
    is_last = isinstance(event, RoundOpened) and event.done and bool(debate.turns)
    unknown = [name for name in event.next_speakers if name not in debate.names]
    problems = {
        "nobody opens rounds here": phase is None or phase.order != "moderated",
        "another round is under way": event.round != debate.round,
        "the round was opened already": debate.round_plan(debate.round) is not None,
        "nobody is to speak": not (event.next_speakers or is_last),
        f"nobody here is called {', '.join(unknown)}": bool(unknown),
    }
    return next((problem for problem, holds in problems.items() if holds), "")


def find_turn_problem(debate: Debate, turn: Spoke, slot: Slot) -> str:
    """Why a turn is not what its slot asks for; "" where it is."""
    other_names = {*debate.names} - {turn.seat}
    is_said = turn.act == "argument" and not turn.to
    problems = {
        "an argument is for everybody": slot.task == "argument" and not is_said,
        "it answers another message": slot.task == "answer"
        and (turn.act, turn.to) != ("answer", slot.message_author),
        "a message was asked for": slot.task == "message" and turn.act in ("argument", "answer"),
        f"no message can go to {turn.to}": slot.task == "message" and turn.to not in other_names,
        f"nobody stands for {turn.holds}": turn.holds not in ("", NO_POSITION, *debate.names),
        f"{turn.hands_to} cannot speak next": bool(turn.hands_to) and turn.hands_to not in other_names,
    }
    return next((problem for problem, holds in problems.items() if holds), find_message_problem(debate, turn))


def find_message_problem(debate: Debate, turn: Spoke) -> str:
    """Why the message that comes with a turn cannot be sent; "" where there is none, or it can."""
    if turn.message is None:
        return ""
    is_sent_with = turn.act == "argument" and may_send(debate, turn.seat)
    is_possible = is_sent_with and turn.message.to in {*debate.names} - {turn.seat}
    return "" if is_possible else "no such message may be sent with it"


def is_unanswered(debate: Debate, message: Spoke) -> bool:
    """Whether a message has no answer and will have none."""
    exchanges = debate.round_exchanges(message.round)
    pair = (message.seat, message.to)
    has_answer = any((candidate.seat, candidate.to) == pair and answers for candidate, *answers in exchanges)
    if message.act in ("argument", "answer") or has_answer:
        return False
    return message.round < debate.round or not any(
        (slot.seat, slot.message_author) == (message.to, message.seat) and is_open(debate, slot)
        for slot in round_slots(debate)
    )


def build_talk_groups(debate: Debate, phase: Phase) -> SlotGroups:
    """The turns of a round, with the slots of moderator, voters and referee before and after them."""
    opening = ((Slot(MODERATOR, 0, "opening"),),)
    if phase.order == "moderated" and debate.round_plan(debate.round) is None:
        return opening
    turn_groups = build_turn_groups(debate, phase)
    if phase.wants == "argument":
        turn_groups = apply_turn_limit(debate, turn_groups)
    if phase.messages and (answers := list_answer_slots(debate, MESSAGE_SLOT + 1)):
        turn_groups = (*turn_groups, answers)  # asked for after all turns
    opening_groups = opening if phase.order == "moderated" else ()
    voters = list_later_voters(debate) if turn_groups else ()
    ballots = (tuple(Slot(name, LATER_BALLOT, "ballot") for name in voters),) if voters else ()
    return (*opening_groups, *turn_groups, *ballots, *build_review_groups(debate, turn_groups))


def build_review_groups(debate: Debate, turn_groups: SlotGroups) -> SlotGroups:
    """The officers and the meter, if anybody speaks in the round; the closing moderator."""
    setup = debate.setup
    officer_slots = (Slot(officer.seat, 0, "reading") for officer in setup.officers)
    measurement = (Slot(METER, 0, "measurement"),) if wants_measurement(debate) else ()
    readers = (*officer_slots, *measurement) if turn_groups else ()
    closes = setup.moderator is not None and setup.moderator.closes
    return (*((readers,) if readers else ()), *(((CLOSING_SLOT,),) if closes else ()))


def build_turn_groups(debate: Debate, phase: Phase) -> SlotGroups:
    if phase.wants == "message":
        asking = tuple(Slot(name, 0, "message") for name in debate.names)
        return apply_turn_limit(debate, (asking, list_answer_slots(debate, 1)))
    match phase.order:
        case "together":
            return (tuple(slot for (slot,) in build_argument_groups(debate.names)),)
        case "handoff":
            return build_argument_groups(debate.rounds[-1].order)
        case "declared" | "moderated":
            plan = debate.round_plan(debate.round)
            return build_argument_groups(plan.next_speakers if plan else debate.names)
        case _:
            assert_never(phase.order)


@lru_cache(256)  # they are the same in each version of a round
def build_argument_groups(names: tuple[str, ...]) -> SlotGroups:
    return tuple((Slot(name, names[:index].count(name), "argument"),) for index, name in enumerate(names))


def apply_turn_limit(debate: Debate, groups: SlotGroups) -> SlotGroups:
    """The slots that `max_turns` still allows."""
    if not debate.max_turns:
        return groups
    turns_before = sum(turn.round < debate.round for turn in debate.turns)
    return tuple(limit_turns(groups, debate.max_turns - turns_before))


def limit_turns(groups: Iterable[tuple[T, ...]], turns_left: int) -> list[tuple[T, ...]]:
    """As much of the groups as these turns allow."""
    groups_left = []
    for group in groups:
        groups_left.append(group[: max(turns_left, 0)])
        turns_left -= len(group)
    return [group for group in groups_left if group]


def round_slots(debate: Debate) -> tuple[Slot, ...]:
    return tuple(slot for group in build_slot_groups(debate) for slot in group)


def slot_failures(debate: Debate, slot_key: tuple[str, int]) -> tuple[Failed, ...]:
    """The failures of a slot in this round since the debate was last resumed."""
    failures = debate.round_failures
    return failures and tuple(f for f in failures if (f.seat, f.slot_index) == slot_key)


def is_exhausted(debate: Debate, slot_key: tuple[str, int]) -> bool:
    """Whether a slot is given up in this round: each of its models failed, or time ran out."""
    failures = slot_failures(debate, slot_key)
    if not failures:
        return False
    if any(failure.cause == "late" for failure in failures):
        return True  # no other model has more time
    is_bad_ballot = is_private_ballot(slot_key[1]) and failures[-1].cause in BAD_REPLY_CAUSES
    if is_bad_ballot or is_blind_answer(slot_key):
        # Whoever speaks well may go on speaking: no other model takes its seat.
        return has_final_failure(failures)
    seat, _ = slot_key
    all_failed = all((seat, model) in debate.failed_models for model in candidate_models(debate, seat))
    return all_failed and has_final_failure(failures)


def has_final_failure(failures: Sequence[Failed]) -> bool:
    """Whether the model that failed last is not called again.

    Its provider failed, or two replies were bad.
    """
    model_failures = [failure for failure in failures if failure.model == failures[-1].model]
    return len(model_failures) > 1 or model_failures[-1].cause not in REPAIRABLE_CAUSES


def is_open(debate: Debate, slot: Slot) -> bool:
    """Whether an answer for the slot is missing and would be accepted."""
    return slot.key not in debate.answered_slots and not is_exhausted(debate, slot.key)


@once
def open_slots(debate: Debate) -> tuple[Slot, ...]:
    """The open slots of the first group that has any."""
    if debate.ended:
        return ()
    for group in build_slot_groups(debate):
        if missing := tuple(slot for slot in group if is_open(debate, slot)):
            return missing
    return ()


@once
def late_reading_slots(debate: Debate) -> tuple[Slot, ...]:
    """Second readings, which may be under way while a judge without a first one is asked again."""
    phase = debate.phase
    if debate.ended or not (phase and phase.is_judgment and debate.setup.judges.both_orders):
        return ()
    heard = dict.fromkeys((reading.seat for reading in debate.judgments), ORDERS)
    return tuple(slot for slot in list_judge_slots(heard) if is_open(debate, slot))


@once
def final_closing_slots(debate: Debate) -> tuple[Slot, ...]:
    """The moderator's closing slot, where a concluded talk still needs it for the verdict."""
    phase = debate.phase
    if debate.ended or not (debate.is_concluding and debate.turns and phase and phase.is_talk):
        return ()
    is_needed = verdict_source(debate.setup) == "moderator" and is_open(debate, CLOSING_SLOT)
    return (CLOSING_SLOT,) if is_needed else ()
