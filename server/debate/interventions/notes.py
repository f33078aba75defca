"""Notes, challenges and instructions: texts of a caller for seats. Three actions, which check their text alike."""

from typing import TypeVar

from server.debate.ballots.waves import is_debaters_vote, is_talk_over
from server.debate.facts.errors import check, require, require_length
from server.debate.facts.interventions import Challenged, InstructionGiven, NoteAdded, TextIntervention
from server.debate.facts.text import clean
from server.debate.interventions.action import (
    Action,
    Change,
    Inheritance,
    InterventionRequest,
    check_framed,
    check_known,
    list_seats_to_ask,
)
from server.debate.state.debate import Debate, replace
from server.debate.state.seats import check_name

MAX_NOTE_LENGTH = 8_000
MAX_NOTES = 500
MAX_NOTES_LENGTH = 200_000  # characters, of all notes of a debate

T = TypeVar("T", bound=TextIntervention)


class TextAction(Action[T]):
    texts = {TextIntervention: {"text": MAX_NOTE_LENGTH}}
    for_hooks = True
    needs_text = True

    def rebuild(self, fact: T) -> InterventionRequest:
        return InterventionRequest(text=fact.text, to=fact.to)

    def describe(self, fact: T) -> tuple[str, str]:
        return fact.to, fact.text


class Inject(TextAction[NoteAdded]):
    """A note for the debaters, or for one of them."""

    name = "inject"
    hint = "a note for all, or for `to`"
    facts = (NoteAdded,)

    def build(self, debate: Debate, request: InterventionRequest) -> Change:
        check_note(debate, request, is_for_debaters=bool(request.to))
        note = NoteAdded(**check_text(debate, request, self.name))
        return [note], f"{note.to or 'Everybody'} reads it with every question put from now on."

    def apply(self, debate: Debate, fact: NoteAdded) -> Debate:
        return add_to_transcript(debate, fact)


class Challenge(TextAction[Challenged]):
    """A note that debaters must answer."""

    name = "challenge"
    hint = "a point that must be answered (text, to)"
    facts = (Challenged,)

    def build(self, debate: Debate, request: InterventionRequest) -> Change:
        check_note(debate, request, is_for_debaters=True)
        note = Challenged(**check_text(debate, request, self.name))
        recipients = note.to or "Every debater"
        effect = f"{recipients} is to answer it in the next turn, if one is left; everybody reads it in the record."
        return [note], effect

    def apply(self, debate: Debate, fact: Challenged) -> Debate:
        return add_to_transcript(debate, fact)


class Instruct(TextAction[InstructionGiven]):
    """An instruction for the seats from the next round on."""

    name = "instruct"
    hint = "what seats are to do (text, to)"
    facts = (InstructionGiven,)

    def build(self, debate: Debate, request: InterventionRequest) -> Change:
        if request.to:
            check_framed(debate)
            check_known(request.to, list_seats_to_ask(debate), "Seats")
        instruction = InstructionGiven(**check_text(debate, request, self.name))
        return [instruction], f"{request.to or 'Every seat'} follows it from the next round on."

    def inherit(self, fact: InstructionGiven, fork: Inheritance) -> InstructionGiven | None:
        return super().inherit(fact, fork) if fork.keeps_instructions else None


def add_to_transcript(debate: Debate, note: NoteAdded | Challenged) -> Debate:
    check_name(debate, note.to)
    check(note.round == debate.round, "it was written in another round")
    return replace(
        debate,
        transcript_events=(*debate.transcript_events, note),
        notes=(*debate.notes, note),
        note_versions=(*debate.note_versions, debate.version + 1),
    )


def check_note(debate: Debate, request: InterventionRequest, *, is_for_debaters: bool) -> None:
    phases, phase = debate.setup.phases, debate.phase
    if request.to:
        check_framed(debate)
        check_known(request.to, debate.names, "Debaters")
    if phase is None or not is_talk_over(debate):
        return
    is_cut_short = debate.is_concluding and phase.is_talk
    require(is_cut_short, "The talk is over, and notes are for those who talk. The verdict has the finding.")
    later = phases[phases.index(phase) + 1 :]
    vote = any(map(is_debaters_vote, later))
    problem = "The talk is being concluded, and no debater is asked for anything more."
    require(
        vote or not is_for_debaters,
        f"{problem} Whoever decides reads notes to everybody: name nobody in `to`.",
    )


def check_text(debate: Debate, request: InterventionRequest, action: str) -> dict[str, str]:
    """The fields of an intervention that is a text. Prompts repeat all of these texts, so their sum has a limit."""
    text = clean(request.text)
    require(text, f"There is nothing to {action}. Say it in `text`.")
    require_length("The text has", len(text), MAX_NOTE_LENGTH)
    earlier = debate.find_interventions(TextIntervention)
    require(len(earlier) < MAX_NOTES, f"The debate has {MAX_NOTES} notes, the most that are allowed.")
    total = sum(len(note.text) for note in earlier) + len(text)
    require_length("All notes together have", total, MAX_NOTES_LENGTH, "Say less, or begin another debate.")
    return {"text": text, "to": request.to}
