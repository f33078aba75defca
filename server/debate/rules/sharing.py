"""What the prompt of a call has in common with others on its model, as far as a debate can tell beforehand."""

from typing import NamedTuple

from server.debate.answer.debates import count_readings, list_reviewers
from server.debate.facts.events import Task
from server.debate.facts.setup.phases import AdviceTask
from server.debate.facts.setup.seats import CHECKER
from server.debate.rules.calls import Call, pending_calls
from server.debate.state.debate import Debate
from server.debate.state.memo import once
from server.debate.state.seats import current_model, phase_seats

LONG_TOKENS = 4_096
"""Of a beginning that every provider keeps, and that pays for a wait and for a reply without a schema."""

READS_DOCUMENTS: tuple[AdviceTask, ...] = ("advice", "review", "check")
"""Tasks of the answer format whose prompts begin with question and documents."""

OWN_MATERIAL: tuple[Task, ...] = ("digest", "framing", "measurement")
"""Tasks that read what no other reads."""


class Sharing(NamedTuple):
    """`is_shared`: whether another prompt, now or later, begins with all that this one has before its task.

    `may_omit_schema`: whether the model has kept to the shape of replies so far. One that has not is sent the schema.
    """

    is_shared: bool = False
    may_omit_schema: bool = True


def find_sharing(debate: Debate, call: Call) -> Sharing:
    is_trusted = not any(
        failure.cause == "unreadable" and failure.model in ("", call.model) for failure in debate.failures
    )
    return Sharing(is_shared(debate, call), is_trusted)


def is_shared(debate: Debate, call: Call) -> bool:
    if call.task in OWN_MATERIAL:
        return False
    if debate.setup.answering:
        return call.task in READS_DOCUMENTS and list_document_readers(debate).count(call.model) > 1
    at_once = [pending.model for pending in pending_calls(debate)]
    return at_once.count(call.model) > 1 or call.model in list_later_models(debate)


@once
def list_document_readers(debate: Debate) -> tuple[str, ...]:
    """The model of each call of the answer format that reads the documents, if none is repeated."""
    readers: dict[str, tuple[str, ...]] = {
        "advice": debate.names,
        "review": list_reviewers(debate) * count_readings(debate),
        "check": (CHECKER,),
    }
    seats = [seat for phase in debate.setup.phases for seat in readers.get(phase.wants, ())]
    return tuple(current_model(debate, seat) for seat in seats)


@once
def list_later_models(debate: Debate) -> tuple[str, ...]:
    """The models of the seats that are asked in later rounds."""
    phases, now = debate.setup.phases, debate.phase
    is_held_again = now is not None and now.is_talk and debate.round < debate.max_rounds
    later = phases[phases.index(now) + (not is_held_again) :] if now else phases
    return tuple(current_model(debate, seat) for phase in later for seat in phase_seats(debate.setup, phase))
