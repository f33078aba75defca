"""The result of the answer format as data: its lines, its advisors, and its fields of a verdict."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from pydantic import BaseModel, Field

from server.debate.analysis.confidence import list_standings
from server.debate.answer.count import SILENCES, AdviceCount, find_probability
from server.debate.answer.debates import build_panel, count_debate
from server.debate.answer.lines import AnswerLines, build_lines, list_lead
from server.debate.answer.mentions import tell_mentions
from server.debate.answer.panel import Panel
from server.debate.answer.report import find_difference, show_report
from server.debate.answer.sides import OWN
from server.debate.ballots.report import Beliefs
from server.debate.documents.marks import mark_quotes
from server.debate.facts.fact import change_texts
from server.debate.facts.quoting import quote_heading
from server.debate.facts.setup.seats import WRITER
from server.debate.state.debate import Debate
from server.debate.state.memo import once
from server.debate.state.seats import current_model
from server.debate.views.state import describe_costs
from server.debate.views.visibility import hide_answers
from server.debate.votes.counting import CountedVote

CLOSED = ('."', '!"', '?"', '…"')
"""The ends of quotations after which no full stop follows."""


class Advisor(BaseModel):
    """An advisor: which side it is on, and why."""

    name: str
    model: str
    side: Annotated[str, Field(description="An advisor whose answer it is, or own")] = ""
    blind: Annotated[str, Field(description="The side of its own answer")] = ""
    moved: bool = False
    moved_by: str = ""
    probability: Annotated[int, Field(description="Percent; its own estimate")] = 0
    recommendation: str = ""


@once
def build_answer(debate: Debate) -> AnswerLines:
    """The lines of an answer; before the end only the answers so far, which nobody has checked."""
    panel = build_panel(debate)
    if not debate.ended and debate.verdict is None:
        visible_panel = build_panel(hide_answers(debate))
        return AnswerLines(
            so_far=[
                advice.recommendation for advice in visible_panel.advised.values() if advice.recommendation
            ]
        )
    problem = find_report_failure(debate)
    lines = build_lines(
        panel,
        count_debate(debate),
        standings=list_standings(debate),
        cost=describe_costs(debate)[0],
        problem=problem,
    )
    return show_marks(
        debate, lines.model_copy(update={"differ_in": tell_mentions(panel, find_difference(panel))})
    )


def show_marks(debate: Debate, lines: AnswerLines) -> AnswerLines:
    """The lines with the server's marks after quotes of documents."""

    def show(text: str) -> str:
        return mark_quotes(debate, text, debate.version, str)

    texts_of_ours = {"head", "mine", "how_sure", "cost", "written_by", "problem"}
    changed = {name: change_texts(value, show) for name, value in lines if name not in texts_of_ours}
    return lines.model_copy(update=changed)


def find_report_failure(debate: Debate) -> str:
    """Why nobody wrote an answer that could be taken, or no answer came; "" if somebody did."""
    panel = build_panel(debate)
    seats = {WRITER} if panel.answers else {*debate.names}
    details = [failure.detail for failure in debate.failures if failure.seat in seats]
    is_written = bool(panel.answers and show_report(panel, count_debate(debate)))
    return details[-1] if details and not is_written else ""


def list_advisors(debate: Debate) -> list[Advisor]:
    panel, count = build_panel(hide_answers(debate)), count_debate(debate)
    sides = {vote.seat: name_side(vote.side) for vote in count.votes}
    advisors = []
    for name in panel.advisors:
        exchange, advice = panel.find_exchange(name), panel.find_last_advice(name)
        is_read = name in panel.readers
        advisors.append(
            Advisor(
                name=name,
                model=current_model(debate, name),
                side=sides.get(name, ""),
                blind=name_side(count.sides.blind.get(name, "")),
                moved=name in count.sides.moved,
                moved_by=tell_mentions(panel, exchange.moved_by) if exchange else "",
                probability=find_probability(panel, name) if is_read else advice.probability if advice else 0,
                recommendation=tell_mentions(panel, advice.recommendation) if advice else "",
            )
        )
    return advisors


def name_side(side: str) -> str:
    return "own" if side.startswith(OWN) else side


def build_advice_fields(debate: Debate) -> dict[str, Any]:
    """The fields of a verdict that only the answer format fills."""
    panel, count = build_panel(debate), count_debate(debate)
    silent_count = sum(bool(vote.abstains) for vote in count.votes)
    return {
        "headline": format_headline(build_answer(debate), count.caps),
        "ahead": name_side(count.ahead),
        "panel": {
            "asked": len(count.votes),
            "voted": len(count.votes) - silent_count,
            "failed": silent_count,
            "support": str(count.support),
            "against": str(count.against),
            "voices": 0.0,
        },
        "votes": list(map(describe_vote, count.votes)),
        "dissent": list(list_dissent(panel, count)),
        "beliefs": build_advice_beliefs(panel, count),
        "advisors": list_advisors(debate),
    }


def list_answer_cautions(debate: Debate) -> Iterator[str]:
    """What weakens an answer beside what failed: readings that contradict each other, and a check that disagrees."""
    panel, count = build_panel(debate), count_debate(debate)
    silenced = [vote.seat for vote in count.votes if vote.abstains == SILENCES["apart"]]
    yield from (f"{seat} {SILENCES['apart']}, and has no vote." for seat in silenced)
    if panel.check and not (panel.check.agrees or any(fault.matters for fault in panel.check.faults)):
        yield "Who checked the answer would not act on it, and names no fault that matters."


def format_headline(lines: AnswerLines, caps: Iterable[str]) -> str:
    """Whether the caller's answer stands, the head, the recommendation and its caps, in a line."""
    advice = ": ".join(map(quote_heading, list_lead(lines)))
    words = advice if lines.recommendation else lines.problem
    mine = f"Your answer: {lines.mine} " if lines.mine else ""
    finding = f"{mine}{lines.head}: {words}" if words else lines.head
    closed = finding if finding.endswith(CLOSED) else f"{finding.rstrip('.')}."
    told = " ".join(caps)
    return f"{closed} {told}" if told else finding.rstrip(".")


def build_advice_beliefs(panel: Panel, count: AdviceCount) -> Beliefs:
    """How likely each advisor held which answer to be right: by itself, and after it had read the others."""
    before = [
        f"{seat}: {describe_side(seat, count.sides.blind[seat])}, {answer.probability}%"
        for seat, answer in panel.advised.items()
    ]
    after = [
        f"{seat}: {describe_side(seat, side)}, {find_probability(panel, seat)}%"
        for seat, side in count.sides.held.items()
        if side
    ]
    moves = [
        f"{seat} moved to {describe_side(seat, count.sides.held[seat])}{describe_move(panel, seat)}"
        for seat in count.sides.moved
    ]
    return Beliefs(before=before, after=after, moved=moves)


def describe_side(seat: str, side: str) -> str:
    """What an advisor stands by."""
    if side == seat:
        return "its own answer"
    return "advice of its own" if side.startswith(OWN) else f"the answer of {side}"


def describe_move(panel: Panel, seat: str) -> str:
    """What moved a seat in an exchange, in the words that it copied."""
    said = panel.find_exchange(seat)
    words = tell_mentions(panel, said.moved_by) if said else ""
    return f", because of {quote_heading(words)}" if words else ""


def describe_vote(vote: CountedVote) -> str:
    """A vote in a line: its side, and how clearly it is on it."""
    stand = f": {describe_side(vote.seat, vote.side)}, margin {vote.margin} of 3"
    return f"{vote.seat} ({vote.model}){f' {vote.abstains}' if vote.abstains else stand}"


def list_dissent(panel: Panel, count: AdviceCount) -> list[str]:
    """The advice of those who are not on the side ahead; of all where none is."""
    dissenters = [vote.seat for vote in count.votes if vote.side not in ("", count.ahead)]
    advice = ((seat, panel.find_last_advice(seat)) for seat in dissenters)
    return [f"{seat}: {tell_mentions(panel, given.recommendation)}" for seat, given in advice if given]
