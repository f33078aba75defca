"""Who speaks in what order: as declared, drawn from the seed, or chosen by the speaker before."""

from hashlib import sha256

from server.debate.facts.answers import HandedOff, HandoffFailed
from server.debate.facts.events import Event
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.phases import Phase
from server.debate.state.debate import Debate
from server.debate.state.labels import side_labels
from server.debate.state.seats import phase_seats


def build_handoff_events(debate: Debate) -> tuple[Event, ...]:
    """The next speaker: chosen by the last one, or drawn from the debate's seed."""
    number = debate.round
    if debate.round_phase(number).order != "handoff" or any(
        handoff.round == number for handoff in debate.handoffs
    ):
        return ()
    (turn,) = debate.round_turns(number)
    if turn.hands_to:
        return (HandedOff(seat=turn.seat, round=number, to=turn.hands_to, because="chosen"),)
    other_names = [name for name in debate.names if name != turn.seat]
    next_name = min(other_names, key=lambda name: compute_draw_key(debate.setup, f"handoff:{number}:{name}"))
    problem = (
        f"{turn.no_handoff or 'it named nobody to speak next'}; {side_labels(debate)[next_name]} was drawn"
    )
    handoff_failure = HandoffFailed(seat=turn.seat, round=number, seen=turn.seen, detail=problem)
    is_recorded = any(failure.round == number for failure in debate.handoff_failures)
    handoff_event = HandedOff(seat=turn.seat, round=number, to=next_name, because="drawn")
    return (handoff_event,) if is_recorded else (handoff_failure, handoff_event)


def compute_seat_order(setup: Opened, phase: Phase, round_number: int) -> tuple[str, ...]:
    """The order in which a round is read: as declared, or, where it is written together, drawn from the seed.

    The draw is a hash and not a random generator: every release and every Python draws the same.
    """
    seats = phase_seats(setup, phase)
    if phase.participants != "debaters" or phase.order != "together" or not setup.judges.shuffle:
        return seats
    return tuple(sorted(seats, key=lambda name: compute_draw_key(setup, f"{round_number}:{name}")))


def compute_draw_key(setup: Opened, label: str) -> bytes:
    return sha256(f"{setup.seed}:{label}".encode()).digest()


def find_handoff_problem(debate: Debate, event: HandedOff | HandoffFailed) -> str:
    """Why a hand-off, or that it failed, does not follow from the turn of this round; "" where it does."""
    phase = debate.phase
    if phase is None or phase.order != "handoff":
        return "nobody hands over here"
    if any(handoff.round == debate.round for handoff in debate.handoffs):
        return "it was handed over already"
    turn = next((t for t in debate.turns if (t.seat, t.round) == (event.seat, debate.round)), None)
    if turn is None or event.round != debate.round:
        return "nobody spoke"
    if isinstance(event, HandoffFailed):
        is_recorded = any(failure.round == event.round for failure in debate.handoff_failures)
        return "the choice was a good one" if turn.hands_to else "it is recorded already" * is_recorded
    if (event.because == "chosen") != bool(turn.hands_to) or turn.hands_to not in ("", event.to):
        return "that is not how it was handed over"
    is_possible = event.to in debate.names and event.to != event.seat
    return "" if is_possible else f"{event.to} cannot speak next"
