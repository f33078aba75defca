"""The plan of a whole debate: which answers are asked for together, one wave after the other.

What a debate is likely to take (`setup.estimate`), how many answers it has in all and whether its limits pay for it
follow from this list alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

from server.debate.answer.debates import count_exchanges, count_readings, list_reviewers, needs_writer
from server.debate.ballots.waves import asks_after, is_debaters_vote, joins_final_wave
from server.debate.facts.setup.phases import AdviceTask, Phase, count_passes, find_block
from server.debate.facts.setup.seats import CHECKER, FRAMER, MODERATOR, READER, SYNTHESIZER, WRITER
from server.debate.rules.budget import (
    compute_remaining,
    count_model_seats,
    count_reserved_calls,
    has_one_judge,
    list_phase_answers,
    list_readers,
)
from server.debate.rules.schedule import has_to_wait, limit_turns, open_slots
from server.debate.state.debate import Debate
from server.debate.state.seats import list_blind_models


@dataclass(frozen=True, slots=True)
class Wave:
    """Answers that are asked for together; `quoted`: how many turns each prompt quotes. `is_held`: a fork has them."""

    seats: tuple[str, ...]
    quoted: int = 0
    reads_documents: bool = True
    is_held: bool = False


def plan_waves(debate: Debate, *, fewest: bool) -> list[Wave]:
    """The waves in order, if no answer fails and the talk does not end early; without a baseline.

    `fewest`: without second readings of several judges; in the answer format with the exchanges so far and no report
    written again. Where the speakers are chosen, the debaters speak equally often.
    """
    setup = debate.setup
    sections = setup.reader.sections if setup.reader else ()
    framing = [(FRAMER,) * len(list_blind_models(setup.framer)), (FRAMER,)] if setup.framer else []
    is_held = setup.forked_at_round > 0
    waves = [Wave(seats, is_held=is_held) for seats in ((READER,) * len(sections), *framing) if seats]
    plan = plan_advice if setup.answering else plan_rounds
    return [*waves, *plan(debate, fewest=fewest)]


def count_expected_answers(debate: Debate) -> int:
    """Number of answers of the whole debate, as far as it is sure to need them."""
    return sum(len(wave.seats) for wave in plan_waves(debate, fewest=True))


def pays_for_all(debate: Debate) -> bool:
    """Whether the limits pay for the whole debate as planned, the calls for its verdict included."""
    setup = debate.setup
    waves = plan_waves(debate, fewest=setup.answering is not None or has_one_judge(setup))
    calls = sum(count_model_seats(debate, wave.seats) for wave in waves)
    return compute_remaining(debate).calls + count_reserved_calls(debate) >= calls


def plan_advice(debate: Debate, *, fewest: bool) -> Iterator[Wave]:
    """The waves of the answer format."""
    setup, reviewers = debate.setup, list_reviewers(debate)
    reviews = reviewers * count_readings(debate)
    exchange = Wave(reviewers, len(reviewers), reads_documents=False)
    report = Wave((WRITER,), len(setup.debaters) + len(reviews), reads_documents=False)
    is_reviewing = debate.phase is not None and debate.phase.wants == "review" and bool(open_slots(debate))
    is_written = needs_writer(debate) and not is_reviewing
    waves: dict[AdviceTask, list[Wave]] = {
        "advice": [Wave(debate.names)],
        "review": [Wave(reviews, len(setup.debaters))],
        "exchange": [exchange] * (count_exchanges(debate) if fewest else debate.max_rounds),
        "report": [report] * is_written if fewest else [report, report],
        "check": [Wave((CHECKER,), 1), *([] if fewest else [report])],
    }
    wanted = [phase.wants for phase in setup.phases if phase.wants in waves]
    held = [debate.round_phase(number).wants for number in range(1, setup.forked_at_round + 1)]
    last_held = max((index for index, task in enumerate(wanted) if task in held), default=-1)
    for index, task in enumerate(wanted):
        # A fork of an exchange may hold others.
        count = held.count(task) if index == last_held and task == "exchange" else len(waves[task])
        for number, wave in enumerate(waves[task]):
            yield replace(wave, is_held=index <= last_held and number < count)
    if setup.synthesizer:
        yield Wave((SYNTHESIZER,), 1)


def plan_rounds(debate: Debate, *, fewest: bool) -> Iterator[Wave]:
    """The waves of the other formats, round by round."""
    setup, phases = debate.setup, list_phases_held(debate)
    blind = () if setup.ballots == "none" or is_debaters_vote(phases[0]) else debate.names
    if blind and (phases[0].order != "together" or has_to_wait(debate)):
        yield Wave(blind, is_held=setup.forked_at_round > 0)
        blind = ()
    last_talk = max(index for index, phase in enumerate(phases) if phase.is_talk)
    number = turns = talk_rounds = 0
    is_full = has_last_ballots = False
    joining = debate.names if joins_final_wave(setup) else ()
    for index, phase in enumerate(phases):
        if (phase.is_talk and is_full) or (phase.is_private and has_last_ballots):
            continue
        number += 1
        groups: list[tuple[tuple[str, ...], int]] = []  # each with the number of turns that it reads
        if phase.is_talk:
            for seats in list_turn_groups(debate, phase, turns):
                groups.append((seats, turns))
                turns += sum(seat in debate.names for seat in seats)
            is_full = 0 < debate.max_turns <= turns
            talk_rounds += 1
            is_last = is_full or index == last_talk
            has_last_ballots = asks_after(setup, phase, talk_rounds, is_last=is_last)
            readers = list_round_readers(debate, has_ballots=has_last_ballots)
            groups += [(seats, turns) for seats in readers]
        else:
            is_over = is_full or index > last_talk
            voters = joining if is_over and not has_last_ballots else ()
            joining = () if voters else joining
            at_once = list_phase_answers(setup, phase, fewest=True)
            again = [] if fewest else list_phase_answers(setup, phase)[len(at_once) :]
            # Second readings, and what compares advice.
            asked = ((*at_once, *voters), tuple(again[:-1]), tuple(again[-1:]))
            groups += [(seats, turns) for seats in asked]
        for seats, quoted in groups:
            if seats:
                yield Wave((*seats, *blind), quoted, is_held=number <= setup.forked_at_round)
                blind = ()


def list_phases_held(debate: Debate) -> list[Phase]:
    """The phase of each round, without the baseline, if the talk does not end early."""
    phases = [phase for phase in debate.setup.phases if not phase.is_baseline]
    free = debate.max_rounds - sum(count_passes(phases, phase) for phase in phases if phase.is_talk)
    held: list[Phase] = []
    left = debate.max_rounds
    for phase in phases:
        block = find_block(phases, phase) or (phase,)
        times = count_passes(phases, phase) + (max(free, 0) if phase.repeats else 0)
        for passes in range(times if phase == block[-1] else 0):
            if passes and not left:
                break
            for part in block:
                if left or not part.is_talk:
                    held.append(part)
                    left -= part.is_talk
    return held


def list_turn_groups(debate: Debate, phase: Phase, turns: int) -> list[tuple[str, ...]]:
    """Who speaks at once in a round of talk that `turns` precede: groups, one after the other."""
    names = debate.names
    groups: list[tuple[str, ...]] = [(name,) for name in names]
    if phase.wants == "message":
        groups = [names, names]
    elif phase.order == "together":
        groups = [names]
    elif phase.order == "handoff":
        groups = [(names[turns % len(names)],)]
    if debate.max_turns:
        groups = limit_turns(groups, debate.max_turns - turns)
    answers = [tuple(chain.from_iterable(groups))] if phase.messages else []
    opening = [(MODERATOR,)] if phase.order == "moderated" else []
    return [*opening, *groups, *answers]


def list_round_readers(debate: Debate, *, has_ballots: bool) -> list[tuple[str, ...]]:
    """Who is asked after the turns of a round of talk: groups, one after the other."""
    moderator = debate.setup.moderator
    closing = (MODERATOR,) if moderator and moderator.closes else ()
    return [debate.names if has_ballots else (), tuple(list_readers(debate.setup)), closing]
