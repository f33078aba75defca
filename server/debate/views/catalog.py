"""The views of a debate: one table for the tool `read_debate`, the resources and the terminal."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Recorded
from server.debate.facts.state import Debate
from server.debate.rules.decide import status
from server.debate.views.audit import analysis, event_row, interventions, receipt, round_view, tasks
from server.debate.views.awaited import awaited_turns, render_awaited_turns
from server.debate.views.compare import DebateFamily
from server.debate.views.markdown import has_result, render_transcript, render_verdict
from server.debate.views.state import build_state, build_verdict, raw_result, turns, usage_by_model, usage_sum

MARKDOWN = "text/markdown"
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class ViewSource:
    """What a view is made from: a debate, and which part of it is wanted."""

    id: str
    debate: Debate
    entries: Sequence[Recorded]
    since_round: int = 0
    round: int = 0  # 0: the latest
    family: DebateFamily | None = None  # loaded for views that need it


ViewData = dict[str, Any]


@dataclass(frozen=True, slots=True)
class View:
    """A view as data and as text. Without a `render` of its own the text is the data as JSON."""

    name: str
    title: str
    description: str
    build: Callable[[ViewSource], ViewData]
    render: Callable[[ViewSource], str] | None = None
    parameters: tuple[str, ...] = ()  # of `since_round` and `round`, those that it takes
    needs_family: bool = False

    @property
    def media_type(self) -> str:
        return MARKDOWN if self.render else JSON

    def render_text(self, source: ViewSource) -> str:
        return self.render(source) if self.render else format_json(self.build(source))


def build_transcript(source: ViewSource) -> ViewData:
    return {
        "debate_id": source.id,
        "question": source.debate.setup.question,
        "status": status(source.debate),
        "turns": [
            turn.model_dump(exclude_defaults=True) for turn in turns(source.debate, source.since_round)
        ],
    }


def build_usage(source: ViewSource) -> ViewData:
    debate = source.debate
    models = {model: used.model_dump() for model, used in usage_by_model(debate).items()}
    return {"total": usage_sum(debate.usage).model_dump(), "models": models}


def build_events(source: ViewSource) -> ViewData:
    hidden = source.debate.setup.hidden_from_client
    entries = entries_since(source.entries, source.since_round)
    return {"events": [event_row(entry, hidden) for entry in entries]}


def entries_since(entries: Sequence[Recorded], since_round: int) -> Sequence[Recorded]:
    """The entries from the start of a round; all of them for 0, all but the opening for 1."""
    if since_round <= 1:
        return entries[since_round:]
    for index, entry in enumerate(entries):
        if entry.event.kind == "phase_entered" and entry.event.round >= since_round:
            return entries[index:]
    return ()


def build_round(source: ViewSource) -> ViewData:
    debate = source.debate
    if not 1 <= (source.round or debate.round) <= debate.round:
        raise InvalidRequestError(f"Debate {source.id} has {debate.round} rounds so far, no {source.round}.")
    return round_view(debate, source.round or debate.round)


def build_family(source: ViewSource) -> ViewData:
    assert source.family is not None
    return source.family.as_data()


def render_verdict_view(source: ViewSource) -> str:
    debate = source.debate
    if has_result(debate):
        return render_verdict(debate)
    missing = "No verdict" if debate.ended else "No verdict yet"
    return f"{missing}: the debate is {status(debate)}, round {debate.round}.\n"


ALL_VIEWS = (
    View(
        "transcript",
        "Transcript",
        "Everything said, then the verdict.",
        build_transcript,
        lambda source: render_transcript(source.debate, source.entries, source.since_round),
        ("since_round",),
    ),
    View(
        "state",
        "State",
        "Participants, progress, cost and outcome.",
        lambda source: build_state(source.id, source.debate, source.entries).model_dump(),
    ),
    View(
        "verdict",
        "Verdict",
        "The finding with its votes, dissent and cost.",
        lambda source: build_verdict(source.debate).model_dump(),
        render_verdict_view,
    ),
    View(
        "result",
        "Result",
        "The whole outcome as plain data.",
        lambda source: raw_result(source.debate),
    ),
    View(
        "round",
        "One round",
        "The turns, ballots, judgments and failures of one round.",
        build_round,
        parameters=("round",),
    ),
    View(
        "analysis",
        "Analysis",
        "Counts by round, debater and judge.",
        lambda source: analysis(source.debate),
    ),
    View(
        "interventions",
        "Interventions",
        "Who steered it, how and why, and what is in force.",
        lambda source: interventions(source.debate, source.entries),
    ),
    View(
        "receipt",
        "Receipt",
        "The head of the journal's hash chain.",
        lambda source: receipt(source.id, source.debate, source.entries),
    ),
    View("usage", "Usage", "Calls, tokens and cost, in all and by model.", build_usage),
    View("events", "Events", "Every recorded event, in order.", build_events, parameters=("since_round",)),
    View(
        "tasks",
        "Tasks",
        "Every model call: open, done or failed.",
        lambda source: {"tasks": [row.model_dump() for row in tasks(source.debate)]},
    ),
    View(
        "prompt",
        "Prompt",
        "The turns that the caller is to write, with their prompts.",
        lambda source: {"awaited": [turn.model_dump() for turn in awaited_turns(source.debate)]},
        lambda source: render_awaited_turns(source.debate),
    ),
    View(
        "family",
        "Family",
        "Comparisons with its parent, its forks and its siblings.",
        build_family,
        needs_family=True,
    ),
)
VIEWS = {view.name: view for view in ALL_VIEWS}


def find_view(name: str) -> View:
    """The view of that name.

    Raises:
        InvalidRequestError: there is none.
    """
    if name not in VIEWS:
        raise InvalidRequestError(f"There is no view {name[:40]!r}. Views: {', '.join(VIEWS)}.")
    return VIEWS[name]


def format_json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, indent=1)
