"""The views of a debate: one table for the tool `read_debate`, the resources and the terminal."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Recorded
from server.debate.facts.state import Debate
from server.debate.rules.decide import status
from server.debate.views.awaited import awaited_turns, render_awaited_turns
from server.debate.views.compare import DebateFamily
from server.debate.views.events import build_event_row, build_receipt, entries_since
from server.debate.views.interventions import build_interventions
from server.debate.views.markdown import has_result, render_transcript, render_verdict
from server.debate.views.rounds import build_analysis, build_round
from server.debate.views.state import build_state, sum_usage, usage_by_model
from server.debate.views.tasks import list_tasks
from server.debate.views.verdict import build_result, build_verdict, visible_turns

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


def build_transcript_view(source: ViewSource) -> ViewData:
    return {
        "debate_id": source.id,
        "question": source.debate.setup.question,
        "status": status(source.debate),
        "turns": [
            turn.model_dump(exclude_defaults=True)
            for turn in visible_turns(source.debate, source.since_round)
        ],
    }


def build_usage_view(source: ViewSource) -> ViewData:
    debate = source.debate
    models = {model: used.model_dump() for model, used in usage_by_model(debate).items()}
    return {"total": sum_usage(debate.usage).model_dump(), "models": models}


def build_events_view(source: ViewSource) -> ViewData:
    hidden = source.debate.setup.hidden_from_client
    entries = entries_since(source.entries, source.since_round)
    return {"events": [build_event_row(entry, hidden) for entry in entries]}


def build_round_view(source: ViewSource) -> ViewData:
    debate = source.debate
    if not 1 <= (source.round or debate.round) <= debate.round:
        raise InvalidRequestError(f"Debate {source.id} has {debate.round} rounds so far, no {source.round}.")
    return build_round(debate, source.round or debate.round)


def build_family_view(source: ViewSource) -> ViewData:
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
        build_transcript_view,
        lambda of: render_transcript(of.debate, of.entries, of.since_round),
        ("since_round",),
    ),
    View(
        "state",
        "State",
        "Participants, progress, cost and outcome.",
        lambda of: build_state(of.id, of.debate, of.entries).model_dump(),
    ),
    View(
        "verdict",
        "Verdict",
        "The finding with its votes, dissent and cost.",
        lambda of: build_verdict(of.debate).model_dump(),
        render_verdict_view,
    ),
    View("result", "Result", "The whole outcome as plain data.", lambda of: build_result(of.debate)),
    View(
        "round",
        "One round",
        "The turns, ballots, judgments and failures of one round.",
        build_round_view,
        parameters=("round",),
    ),
    View("analysis", "Analysis", "Counts by round, debater and judge.", lambda of: build_analysis(of.debate)),
    View(
        "interventions",
        "Interventions",
        "Who steered it, how and why, and what is in force.",
        lambda of: build_interventions(of.debate, of.entries),
    ),
    View(
        "receipt",
        "Receipt",
        "The head of the journal's hash chain.",
        lambda of: build_receipt(of.id, of.debate, of.entries),
    ),
    View("usage", "Usage", "Calls, tokens and cost, in all and by model.", build_usage_view),
    View("events", "Events", "Every recorded event, in order.", build_events_view, None, ("since_round",)),
    View(
        "tasks",
        "Tasks",
        "Every model call: open, done or failed.",
        lambda of: {"tasks": [row.model_dump() for row in list_tasks(of.debate)]},
    ),
    View(
        "prompt",
        "Prompt",
        "The turns that the caller is to write, with their prompts.",
        lambda of: {"awaited": [turn.model_dump() for turn in awaited_turns(of.debate)]},
        lambda of: render_awaited_turns(of.debate),
    ),
    View(
        "family",
        "Family",
        "Comparisons with its parent, its forks and its siblings.",
        build_family_view,
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
