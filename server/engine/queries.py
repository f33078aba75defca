"""Debates as they are read: the views of a tool, the resources of a client, the pages of a list.

One table serves the tool `read_debate`, the resources and the command line, so that they cannot differ.
"""

import json
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.state import Debate
from server.debate.facts.text import count_bytes, shorten_to_bytes
from server.debate.prompts.render import render
from server.debate.rules.decide import Call, pending_calls, status
from server.debate.views import audit as logs
from server.debate.views import markdown
from server.debate.views import state as views
from server.engine.errors import translate_storage_errors
from server.engine.runner import DebateSnapshot
from storage.journal import Journal, StreamListing

PAGE_SIZE = 20
MAX_WINNER_BYTES = 60
"""Bytes, of a stance in a line of a list."""
STATUSES = ("running", "waiting", "paused", "concluded", "truncated")

ViewFunction = Callable[[DebateSnapshot, int], dict[str, Any]]

VIEWS: dict[str, ViewFunction] = {
    "transcript": lambda case, since: {
        "debate_id": case.id,
        "question": case.debate.setup.question,
        "status": case.status,
        "turns": [turn.model_dump(exclude_defaults=True) for turn in views.turns(case.debate, since)],
    },
    "state": lambda case, _: views.build_state(case.id, case.debate, case.entries).model_dump(),
    "result": lambda case, _: views.raw_result(case.debate),
    "analysis": lambda case, _: logs.analysis(case.debate),
    "interventions": lambda case, _: logs.interventions(case.debate, case.entries),
    "receipt": lambda case, _: logs.receipt(case.id, case.debate, case.entries),
    "usage": lambda case, _: {
        "total": views.usage_sum(case.debate.usage).model_dump(),
        "models": {name: used.model_dump() for name, used in views.usage_by_model(case.debate).items()},
    },
    "events": lambda case, since: {
        "events": [
            logs.event_row(entry, case.debate.setup.hidden_from_client)
            for entry in entries_since(case, since)
        ]
    },
    "tasks": lambda case, _: {"tasks": [row.model_dump() for row in logs.tasks(case.debate)]},
    "prompt": lambda case, _: {"awaited": [turn.model_dump() for turn in awaited_turns(case.debate)]},
}


class AwaitedTurn(BaseModel):
    """A turn that the caller is to write, and everything its writer is told."""

    speaker: str
    task: str
    prompt: str

    def shorten(self, limit: int) -> "AwaitedTurn":
        """The same with no more than so many bytes of the prompt: its end, where the instruction stands."""
        return self.model_copy(update={"prompt": truncate_start(self.prompt, limit)})


def truncate_start(text: str, limit: int) -> str:
    if count_bytes(text) <= limit:
        return text
    note = "[The beginning is left out here: read_debate(view='prompt').]\n"
    return note + text.encode()[-max(limit - count_bytes(note), 0) :].decode(errors="ignore")


def awaited_turns(debate: Debate) -> list[AwaitedTurn]:
    """The turns that the debate waits for: nothing goes on before `submit_turn` brings one."""
    if status(debate) != "waiting":
        return []
    return [
        AwaitedTurn(speaker=call.seat, task=call.task, prompt=prompt_text(debate, call))
        for call in pending_calls(debate)
    ]


def prompt_text(debate: Debate, call: Call) -> str:
    return "\n\n".join(message.content for message in render(debate, call).messages)


def build_view(snapshot: DebateSnapshot, view: str, since: int = 0) -> dict[str, Any]:
    """A view as data."""
    return VIEWS[view](snapshot, since)


def render_view(snapshot: DebateSnapshot, view: str, since: int = 0) -> str:
    """A view as text: the transcript in Markdown, everything else as JSON."""
    if view == "transcript":
        return markdown.render_transcript(snapshot.debate, snapshot.entries, since)
    if view == "prompt":
        turns = [f"# {turn.speaker}\n\n{turn.prompt}" for turn in awaited_turns(snapshot.debate)]
        return "\n\n".join(turns) or "No turn of the caller's is awaited."
    return as_json(build_view(snapshot, view, since))


def as_json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, indent=1)


def entries_since(snapshot: DebateSnapshot, since: int) -> list[Any]:
    """The entries from the one that began that round on; all for 0, all but the opening for 1."""
    if since <= 1:
        return list(snapshot.entries[since:])
    begun = [
        i
        for i, e in enumerate(snapshot.entries)
        if e.event.kind == "phase_entered" and e.event.round >= since
    ]
    return list(snapshot.entries[begun[0] :]) if begun else []


class DebateRow(BaseModel):
    """A debate in a list. Times are UTC, in ISO 8601; `outcome` and `winner` are "" where there is none."""

    debate_id: str
    question: str
    status: str
    format: str
    round: int
    outcome: str
    winner: str
    tags: list[str]
    opened_at: str
    changed_at: str


async def list_debates(
    journal: Journal, query: str = "", status: str = "", cursor: str = "", limit: int = PAGE_SIZE
) -> tuple[list[DebateRow], str]:
    """(debates, cursor of the next page or ""), newest first.

    Raises:
        Refused: the cursor is none of ours.
        Unreadable: the database cannot be read.
    """
    if cursor and not (cursor.isascii() and cursor.isdigit()):
        raise InvalidRequestError(
            f"The cursor {cursor[:40]!r} was returned by no page. Leave it out to start anew."
        )
    with translate_storage_errors():
        found = await journal.find(query, status=status, before=int(cursor or 0), limit=limit + 1)
    following = str(found[limit - 1].number) if len(found) > limit else ""
    return [build_list_row(listed) for listed in found[:limit]], following


def build_list_row(listing: StreamListing) -> DebateRow:
    """The row of a debate. Damaged details are left empty, so that one debate does not break the list."""
    details = listing.details
    round_number, tags = details.get("round"), details.get("tags")
    return DebateRow(
        debate_id=str(listing.stream),
        question=markdown.format_heading(str(listing.title)),
        status=str(listing.status),
        format=str(details.get("format") or ""),
        round=round_number if isinstance(round_number, int) else 0,
        outcome=str(details.get("outcome") or ""),
        winner=str(details.get("winner") or ""),
        tags=[str(tag) for tag in tags] if isinstance(tags, list) else [],
        opened_at=str(listing.opened_at or ""),
        changed_at=str(listing.changed_at or ""),
    )


def format_list_line(row: DebateRow) -> str:
    """A row as one line. The question stands last, so that it is what a narrow terminal cuts."""
    winner = shorten_to_bytes(markdown.format_heading(row.winner), MAX_WINNER_BYTES)
    outcome = f", {row.outcome} {winner}".rstrip() if row.outcome else ""
    when = row.opened_at[:16].replace("T", " ")
    return f"{row.debate_id}  {when}  {row.status}{outcome}: {row.question}"
