"""Notes, challenges and instructions: what a caller says to seats."""

from server.debate.ballots.waves import is_debaters_vote, is_talk_over
from server.debate.commands.interventions.request import (
    Change,
    InterventionRequest,
    check_framed,
    check_known,
    find_seats,
)
from server.debate.facts.errors import require, require_length
from server.debate.facts.interventions import Challenged, InstructionGiven, NoteAdded, TextIntervention
from server.debate.facts.text import clean
from server.debate.state.debate import Debate

MAX_NOTE_LENGTH = 8_000
MAX_NOTES = 500
MAX_NOTES_LENGTH = 200_000  # characters, of all notes of a debate


def inject(debate: Debate, request: InterventionRequest) -> Change:
    check_note(debate, request, is_for_debaters=bool(request.to))
    event = NoteAdded(**check_text(debate, request, "inject"))
    return [event], f"{event.to or 'Everybody'} reads it with every question put from now on."


def challenge(debate: Debate, request: InterventionRequest) -> Change:
    check_note(debate, request, is_for_debaters=True)
    event = Challenged(**check_text(debate, request, "challenge"))
    who = event.to or "Every debater"
    effect = f"{who} is to answer it in the next turn, if one is left; everybody reads it in the record."
    return [event], effect


def instruct(debate: Debate, request: InterventionRequest) -> Change:
    if request.to:
        check_framed(debate)
        check_known(request.to, find_seats(debate), "Seats")
    event = InstructionGiven(**check_text(debate, request, "instruct"))
    return [event], f"{request.to or 'Every seat'} follows it from the next round on."


def check_note(debate: Debate, request: InterventionRequest, *, is_for_debaters: bool) -> None:
    phases, phase = debate.setup.phases, debate.phase
    if request.to:
        check_framed(debate)
        check_known(request.to, debate.names, "Debaters")
    if phase is None or not is_talk_over(debate):
        return
    is_cut_short = debate.is_concluding and phase.is_talk
    require(is_cut_short, "The talk is over, and notes are for those who talk. Call get_verdict.")
    later = phases[phases.index(phase) + 1 :]
    vote = any(map(is_debaters_vote, later))
    problem = "The talk is being concluded, and no debater is asked for anything more."
    require(vote or not is_for_debaters, f"{problem} A note for all, with inject, is read by who decides.")


def check_text(debate: Debate, request: InterventionRequest, action: str) -> dict[str, str]:
    """The fields of an intervention that consists of a text. Prompts repeat all of them: their sum has a limit."""
    text = clean(request.text)
    require(text, f"There is nothing to {action}. Pass it in `text`.")
    require_length("The text has", len(text), MAX_NOTE_LENGTH)
    earlier = debate.find_interventions(TextIntervention)
    require(len(earlier) < MAX_NOTES, f"The debate has {MAX_NOTES} notes, the most that are allowed.")
    total = sum(len(note.text) for note in earlier) + len(text)
    require_length("All notes together have", total, MAX_NOTES_LENGTH, "Say less, or begin another debate.")
    return {"text": text, "to": request.to}
