"""Debates as they are read: the views of a tool, the resources of a client, the pages of a list.

One table serves the tool `read_debate`, the resources and the command line, so that they cannot differ.
"""

import json
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from server.debate.facts.errors import Refused
from server.debate.facts.state import Debate
from server.debate.facts.text import shortened, size
from server.debate.prompts.render import render
from server.debate.rules.decide import Call, pending, status
from server.debate.views import audit as logs
from server.debate.views import markdown
from server.debate.views import state as views
from server.engine.errors import storage_translated
from server.engine.runner import Case
from storage.journal import Journal, Listed

PAGE = 20
LONGEST_WINNER = 60
"""Bytes, of a stance in a line of a list."""
STATUSES = ("running", "waiting", "paused", "concluded", "truncated")

View = Callable[[Case, int], dict[str, Any]]

VIEWS: dict[str, View] = {
    "transcript": lambda case, since: {
        "debate_id": case.id,
        "question": case.debate.setup.question,
        "status": case.status,
        "turns": [turn.model_dump(exclude_defaults=True) for turn in views.turns(case.debate, since)],
    },
    "state": lambda case, _: views.state(case.id, case.debate, case.log).model_dump(),
    "result": lambda case, _: views.raw_result(case.debate),
    "analysis": lambda case, _: logs.analysis(case.debate),
    "interventions": lambda case, _: logs.interventions(case.debate, case.log),
    "receipt": lambda case, _: logs.receipt(case.id, case.debate, case.log),
    "usage": lambda case, _: {
        "total": views.usage_sum(case.debate.usage).model_dump(),
        "models": {name: used.model_dump() for name, used in views.usage_by_model(case.debate).items()},
    },
    "events": lambda case, since: {
        "events": [
            logs.event_row(entry, case.debate.setup.hidden_from_client) for entry in since_round(case, since)
        ]
    },
    "tasks": lambda case, _: {"tasks": [row.model_dump() for row in logs.tasks(case.debate)]},
    "prompt": lambda case, _: {"awaited": [turn.model_dump() for turn in awaited(case.debate)]},
}


class Awaited(BaseModel):
    """A turn that the caller is to write, and everything its writer is told."""

    speaker: str
    task: str
    prompt: str

    def shortened(self, limit: int) -> "Awaited":
        """The same with no more than so many bytes of the prompt: its end, where the instruction stands."""
        return self.model_copy(update={"prompt": last_of(self.prompt, limit)})


def last_of(text: str, limit: int) -> str:
    if size(text) <= limit:
        return text
    note = "[The beginning is left out here: read_debate(view='prompt').]\n"
    return note + text.encode()[-max(limit - size(note), 0) :].decode(errors="ignore")


def awaited(debate: Debate) -> list[Awaited]:
    """The turns that the debate waits for: nothing goes on before `submit_turn` brings one."""
    if status(debate) != "waiting":
        return []
    return [
        Awaited(speaker=call.seat, task=call.task, prompt=asked(debate, call)) for call in pending(debate)
    ]


def asked(debate: Debate, call: Call) -> str:
    return "\n\n".join(message.content for message in render(debate, call).messages)


def read(case: Case, view: str, since: int = 0) -> dict[str, Any]:
    """A view as data."""
    return VIEWS[view](case, since)


def as_text(case: Case, view: str, since: int = 0) -> str:
    """A view as text: the transcript in Markdown, everything else as JSON."""
    if view == "transcript":
        return markdown.transcript(case.debate, case.log, since)
    if view == "prompt":
        turns = [f"# {turn.speaker}\n\n{turn.prompt}" for turn in awaited(case.debate)]
        return "\n\n".join(turns) or "No turn of the caller's is awaited."
    return as_json(read(case, view, since))


def as_json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, indent=1)


def since_round(case: Case, since: int) -> list[Any]:
    """The entries from the one that began that round on; all for 0, all but the opening for 1."""
    if since <= 1:
        return list(case.log[since:])
    begun = [i for i, e in enumerate(case.log) if e.event.kind == "phase_entered" and e.event.round >= since]
    return list(case.log[begun[0] :]) if begun else []


async def page(
    journal: Journal, query: str = "", status: str = "", cursor: str = "", limit: int = PAGE
) -> tuple[list[dict[str, Any]], str]:
    """(debates, cursor of the next page or ""), newest first.

    Raises:
        Refused: the cursor is none of ours.
        Unreadable: the database cannot be read.
    """
    if cursor and not (cursor.isascii() and cursor.isdigit()):
        raise Refused(f"The cursor {cursor[:40]!r} was returned by no page. Leave it out to start anew.")
    with storage_translated():
        found = await journal.find(query, status=status, before=int(cursor or 0), limit=limit + 1)
    following = str(found[limit - 1].number) if len(found) > limit else ""
    return [listed_row(listed) for listed in found[:limit]], following


def listed_row(listed: Listed) -> dict[str, Any]:
    """A debate of a list. A row that is damaged says what is left of it, and spoils no list."""
    details = listed.details
    number, tags = details.get("round"), details.get("tags")
    return {
        "debate_id": str(listed.stream),
        "question": markdown.heading(str(listed.title)),
        "status": str(listed.status),
        "format": str(details.get("format") or ""),
        "round": number if isinstance(number, int) else 0,
        "outcome": str(details.get("outcome") or ""),
        "winner": str(details.get("winner") or ""),
        "tags": [str(tag) for tag in tags] if isinstance(tags, list) else [],
        "opened_at": str(listed.opened_at or ""),
        "changed_at": str(listed.changed_at or ""),
    }


def listed_line(listed: dict[str, Any]) -> str:
    """A row as a line, the question at its end, where it can be cut."""
    winner = shortened(markdown.heading(listed["winner"]), LONGEST_WINNER)
    outcome = f", {listed['outcome']} {winner}".rstrip() if listed["outcome"] else ""
    when = listed["opened_at"][:16].replace("T", " ")
    return f"{listed['debate_id']}  {when}  {listed['status']}{outcome}: {listed['question']}"
