"""Private ballots: who is asked for one, and when.

The debaters' models say in private what they hold to be right: blind before any talk, after its rounds where an option
wants that, and after the talk, together with whoever decides. Where the phases have a vote of the debaters there, it
replaces the ballot. The ballots decide nothing.

        round 1      [blind ballots of all], then its turns, or both at once where nobody has to wait
        each round   its turns, then [ballots of all], unless the talk ends with it as planned
        after it     [ballots of all, judges], or a phase of its own if no other follows the talk
        at the end   [samples of the baseline], counted in `samples`
"""

from server.debate.facts.beliefs import Wave
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.phases import Phase, count_passes, find_block
from server.debate.state.debate import Debate

BLIND_BALLOT, LATER_BALLOT, SAMPLE_BALLOT = 100, 101, 200
"""Slot indexes of private ballots, above those of all other answers of a debater in a round. Samples count up from
the last."""

MIN_ROUNDS = 2
"""Rounds of talk before ballots may end it."""


def is_private_ballot(slot_index: int) -> bool:
    return slot_index >= BLIND_BALLOT


def is_blind_ballot(slot_index: int) -> bool:
    """Whether its voter is asked as if nobody had spoken."""
    return slot_index == BLIND_BALLOT or slot_index >= SAMPLE_BALLOT


def name_wave(debate: Debate, slot_index: int) -> Wave:
    """The wave of a ballot of this round."""
    if slot_index == BLIND_BALLOT:
        return "blind"
    if slot_index >= SAMPLE_BALLOT:
        return "sample"
    if slot_index != LATER_BALLOT:
        return "vote"
    return "round" if debate.phase and debate.phase.is_talk else "final"


def is_debaters_vote(phase: Phase) -> bool:
    return phase.is_vote and phase.participants == "debaters"


def list_blind_voters(debate: Debate) -> tuple[str, ...]:
    """The debaters who are asked before anybody speaks: in round 1, unless it is a vote of theirs."""
    phase = debate.phase
    is_due = debate.setup.ballots != "none" and debate.round == 1 and phase is not None
    return debate.names if is_due and phase and not is_debaters_vote(phase) else ()


def list_later_voters(debate: Debate) -> tuple[str, ...]:
    """The debaters who are asked after the turns of this round; after the talk, together with those who decide."""
    phase = debate.phase
    if debate.setup.ballots == "none" or phase is None:
        return ()
    if phase.is_talk:
        return debate.names if asks_after_round(debate) else ()
    if not (phase.is_private or is_final_wave_due(debate)):
        return ()
    voters = list_voters_after_round(debate)
    return tuple(name for name in debate.names if name not in voters)


def has_last_ballots(debate: Debate) -> bool:
    """Whether everybody has been asked after the last round of talk."""
    return list_voters_after_round(debate) >= set(debate.names)


def list_voters_after_round(debate: Debate) -> set[str]:
    """Whose ballots after the last round of talk count: not those that had read a turn that was retracted."""
    last_round = max(debate.talk_rounds, default=0)
    return {
        ballot.seat
        for ballot in debate.ballots
        if (ballot.wave, ballot.round) == ("round", last_round) and ballot.seen >= debate.retracted_at
    }


def may_converge(setup: Opened) -> bool:
    """Whether ballots after rounds may end the talk, or a block of phases."""
    return setup.stop == "on" or any(
        phase.block and phase.block.until == "convergence" for phase in setup.phases
    )


def asks_after_round(debate: Debate) -> bool:
    """Whether ballots follow the turns of the round of talk under way."""
    phase = debate.phase
    assert phase is not None
    is_last = is_last_planned(debate)
    return asks_after(debate.setup, phase, debate.talk_round_count, is_last=is_last)


def asks_after(setup: Opened, phase: Phase, talk_rounds: int, *, is_last: bool) -> bool:
    """Whether ballots follow the turns of a round of this phase, after so many rounds of talk.

    Not after the last planned round, unless ballots may bring a challenge or end a block of phases.
    """
    if setup.ballots == "none":
        return False
    is_wanted = setup.ballots == "rounds" or (setup.stop == "on" and talk_rounds >= MIN_ROUNDS)
    ends_block = phase.block is not None and phase.block.until == "convergence"
    return (is_wanted and not is_last) or ends_block or setup.challenges == "challenge"


def is_last_planned(debate: Debate) -> bool:
    """Whether no other round of talk is planned after this one."""
    phases, phase = debate.setup.phases, debate.phase
    assert phase is not None
    if debate.talk_round_count >= debate.max_rounds or 0 < debate.max_turns <= len(debate.turns):
        return True
    has_later_talk = any(later.is_talk for later in phases[phases.index(phase) + 1 :])
    return not (has_later_talk or phase.repeats or find_block(phases, phase))


def is_final_wave_due(debate: Debate) -> bool:
    """Whether this round is the first after the talk, and no vote of the debaters is held there."""
    phases, phase = debate.setup.phases, debate.phase
    is_first = debate.round > 1 and debate.round_phase(debate.round - 1).is_talk
    if phase is None or not is_first or not is_talk_over(debate):
        return False
    return not any(map(is_debaters_vote, phases[phases.index(phase) :]))


def joins_final_wave(setup: Opened) -> bool:
    """Whether the last ballots are asked for together with the judges: not in a phase of their own, or by a vote."""
    last_talk = max((index for index, phase in enumerate(setup.phases) if phase.is_talk), default=-1)
    later = setup.phases[last_talk + 1 :]
    apart = any(phase.is_private or is_debaters_vote(phase) for phase in later)
    is_asked = setup.ballots != "none" and setup.challenges != "challenge"
    return is_asked and bool(later) and not apart


def is_talk_over(debate: Debate) -> bool:
    """Whether only ballots, judging and synthesis remain."""
    phase = debate.phase
    if phase is None:
        return False
    if phase.is_advice:
        return debate.is_concluding
    phases = debate.setup.phases
    is_over = debate.is_concluding or (bool(debate.rounds[-1].because) and not phase.is_talk)
    passes = sum(entry.phase == phase.name for entry in debate.rounds)
    repeats = passes < count_passes(phases, phase)
    return is_over or not (repeats or any(later.is_talk for later in phases[phases.index(phase) :]))
