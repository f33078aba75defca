"""The views of a debate: one table for the tool `read_debate`, the resources and the terminal."""

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from server.debate.analysis import claims
from server.debate.answer.lines import format_so_far
from server.debate.facts.errors import InvalidRequestError, require
from server.debate.facts.text import format_count
from server.debate.machine.decide import Status, awaits_client, status
from server.debate.machine.render import render_rules
from server.debate.views import events, markdown, prompts, rounds, state, verdict
from server.debate.views.awaited import awaited_turns, describe_task
from server.debate.views.provenance import describe_provenance
from server.debate.views.state import StoredDebate
from server.debate.views.visibility import hide_answers

MARKDOWN = "text/markdown"
JSON = "application/json"

ViewData = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ViewSource(StoredDebate):
    """What a view is made from: a debate, and the part of it that was asked for."""

    since_round: int = 0
    since_seq: int = 0
    round: int = 0  # 0: the latest, or all
    seat: str = ""  # all
    is_whole: bool = False  # not in pages
    family: ViewData = field(default_factory=dict)  # loaded for views that need it
    receipt: ViewData = field(default_factory=dict)  # loaded for views that need it
    is_run: bool = True  # by a process, unless it waits for somebody

    @property
    def status(self) -> Status:
        """The status of the debate; `ready` if it could go on and nobody runs it."""
        recorded_status = status(self.debate)
        if recorded_status == "waiting" and self.is_run and awaits_client(self.debate):
            return "running"  # it is asked at this moment
        return "ready" if recorded_status == "running" and not self.is_run else recorded_status


@dataclass(frozen=True, slots=True)
class View:
    """A view as data and as text. Without a `render` of its own the text is the data as JSON."""

    name: str
    description: str
    collect: Callable[[ViewSource], ViewData]
    render: Callable[[ViewSource], str] | None = None
    parameters: tuple[str, ...] = ()  # those of `since_round`, `since_seq`, `round` and `seat` that it takes
    needs_family: bool = False
    needs_receipt: bool = False

    @property
    def media_type(self) -> str:
        return MARKDOWN if self.render else JSON

    def build(self, source: ViewSource) -> ViewData:
        """The view as data, with who recorded the debate."""
        return {**self.collect(source), "provenance": source.provenance.model_dump()}

    def render_text(self, source: ViewSource) -> str:
        """The view as text; the first line names who else recorded the debate, if anybody."""
        if not self.render:
            return format_json(self.build(source))
        provenance = describe_provenance(source.provenance, len(source.entries))
        return (f"*{provenance}*\n\n" if provenance else "") + self.render(source)


def build_transcript(source: ViewSource) -> ViewData:
    turns = state.visible_turns(source.debate, source.since_round)
    return {
        "debate_id": source.id,
        "question": source.debate.setup.question,
        "status": source.status,
        "turns": [turn.model_dump(exclude_defaults=True) for turn in turns],
    }


def build_round(source: ViewSource) -> ViewData:
    debate = source.debate
    if not 1 <= (source.round or debate.round) <= debate.round:
        round_count = format_count(debate.round, "round")
        raise InvalidRequestError(f"Debate {source.id} has {round_count} so far, no {source.round}.")
    return rounds.build_round(debate, source.round or debate.round)


def render_verdict(source: ViewSource) -> str:
    debate = source.debate
    if markdown.has_result(debate):
        return markdown.render_verdict(debate, source.id)
    reason = state.status_reason(debate)
    parts = [
        f"No verdict: the debate is {state.tell_standing(source.status)}, round {debate.round}. {reason}".rstrip()
    ]
    parts += filter(None, [format_so_far(verdict.build_verdict(debate).answer)])
    return "\n\n".join(parts) + "\n"


def build_awaited(source: ViewSource) -> ViewData:
    turns = [turn.model_dump() for turn in awaited_turns(source.debate)]
    return {"rules": render_rules(source.debate) if turns else "", "awaited": turns}


def render_awaited(source: ViewSource) -> str:
    turns = awaited_turns(source.debate)
    if not turns:
        return "No turn is expected from the caller."
    parts = [f"**The rules of every turn**\n{render_rules(source.debate)}"]
    parts += [f"**{turn.speaker}** ({describe_task(turn)})\n\n{turn.prompt}" for turn in turns]
    return "\n\n".join(parts)


def list_calls(source: ViewSource) -> list[ViewData]:
    return prompts.list_calls(source.debate, source.entries, source.seat, source.round)


ALL_VIEWS = (
    View(
        "transcript",
        "Everything said, then the verdict.",
        build_transcript,
        lambda of: markdown.render_transcript(of.debate, of.entries, of.since_round, of.id),
        parameters=("since_round",),
    ),
    View("state", "Participants, progress, cost and outcome.", state.build_state),
    View(
        "verdict",
        "The finding with its votes, dissent and cost.",
        lambda of: verdict.build_report(of.debate).model_dump() | {"status": of.status},
        render_verdict,
    ),
    View("result", "The whole outcome as plain data.", lambda of: verdict.build_result(of.debate)),
    View(
        "round",
        "The turns, ballots, judgments and failures of one round.",
        build_round,
        parameters=("round",),
    ),
    View(
        "analysis",
        "Counts by round, debater and judge; the evidence of each point.",
        lambda of: rounds.build_analysis(of.debate, of.entries[0].at),
    ),
    View(
        "graph",
        "The points and what they do to each other.",
        lambda of: claims.build_graph_data(hide_answers(of.debate)),
    ),
    View("interventions", "Who steered it, how and why, and what is in force.", events.build_interventions),
    View(
        "receipt",
        "The head of the hash chain, and what was signed at the end.",
        lambda of: of.receipt,
        needs_receipt=True,
    ),
    View("usage", "Calls, tokens and cost, in all and by model.", lambda of: state.build_usage(of.debate)),
    View(
        "events",
        "Every recorded event, in order, with a cursor.",
        lambda of: events.build_event_page(of, of.since_seq, is_whole=of.is_whole),
        parameters=("since_seq",),
    ),
    View(
        "tasks", "Every model call: open, done or failed.", lambda of: {"tasks": rounds.list_tasks(of.debate)}
    ),
    View(
        "prompt", "The turns that the caller is to write, with their prompts.", build_awaited, render_awaited
    ),
    View(
        "prompts",
        "The exact text that each seat read, by seat and round.",
        lambda of: {"calls": list_calls(of), "hidden": prompts.find_obstacle(of.debate)},
        lambda of: prompts.write_calls(of.debate, list_calls(of)),
        parameters=("seat", "round"),
    ),
    View(
        "family",
        "Comparisons with its parent, its forks and its siblings.",
        lambda of: of.family,
        needs_family=True,
    ),
)
VIEWS = {view.name: view for view in ALL_VIEWS}


def find_view(name: str, parameters: Collection[str] = (), others: Collection[str] = ()) -> View:
    """The view of that name. If the transcript does not take the parameters, the view that takes them is meant.

    `others`: what may be named besides, for the error.

    Raises:
        InvalidRequestError: there is no such view, or it does not take these parameters.
    """
    if name not in VIEWS:
        raise InvalidRequestError(f"There is no view {name[:40]!r}. Views: {', '.join((*VIEWS, *others))}.")
    extra_parameters = [parameter for parameter in parameters if parameter not in VIEWS[name].parameters]
    candidates = [view for view in ALL_VIEWS if {*parameters} <= {*view.parameters}]
    if extra_parameters and name == ALL_VIEWS[0].name and candidates:
        return candidates[0]
    takers = " and ".join(
        f"`{parameter}` is for view={view.name!r}"
        for parameter in extra_parameters
        for view in ALL_VIEWS
        if parameter in view.parameters
    )
    require(
        not extra_parameters, f"{takers}: view={name!r} does not take it. Leave it out, or ask for that view."
    )
    return VIEWS[name]


def format_json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, indent=1)
