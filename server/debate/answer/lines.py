"""The lines that people read: of every format, and wherever a result is shown, from one object."""

import re
from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from server.debate.answer.count import Count, describe_agreement, name_outcome
from server.debate.answer.mentions import tell_mentions
from server.debate.answer.panel import Panel
from server.debate.answer.report import (
    describe_mine,
    find_report,
    find_value,
    format_correction,
    list_mine_errors,
)
from server.debate.documents.folding import fold
from server.debate.facts.advice import Branch, Correction, Sourced
from server.debate.facts.quoting import quote, quote_inline
from server.debate.facts.text import clean

UNMEASURED = "Not measured on your questions yet."

_PERCENT_SIGNS = "%\uff05\u066a"
_SHARE = re.compile(rf"(\d+(?:[.,]\d+)?)\s*[{_PERCENT_SIGNS}]")

WHOLE = 10**9
"""A limit of bytes that cuts nothing."""

WORDS = {
    "mine": "Your answer",
    "wrong_in_mine": "Wrong in it",
    "premise": "Premise",
    "because": "Because",
    "corrected": "Corrected",
    "missed": "Missed at first",
    "changes_if": "Changes if",
    "next": "Next",
    "against": "Against it",
    "assumed": "Assumed",
    "how_sure": "How sure",
    "keep_in_mind": "Keep in mind",
    "cost": "Cost",
}
"""What stands before each line. Another language is another table."""


class Finding(BaseModel):
    """What a judge or voter says. `side`: what its vote is for; "" where it counts for nobody."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    seat: str
    side: str
    stand: str  # such as "for Ada"
    text: str


class AnswerLines(BaseModel):
    """What comes out of a debate, to be read and acted on; "" and [] for what there is not."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    head: Annotated[str, Field(description="Agreed, Leaning, Divided …")] = ""
    recommendation: str = ""
    value: Annotated[str, Field(description="The number, date or name asked for; the position ahead")] = ""
    branches: Annotated[list[Branch], Field(description="Advice by case or side")] = []
    mine: Annotated[str, Field(description="Whether options.my_answer stands")] = ""
    wrong_in_mine: list[str] = []
    premise: str = ""
    because: str = ""
    corrected: list[Sourced] = []
    missed: list[Sourced] = []
    changes_if: str = ""
    next: str = ""
    against: str = ""
    assumed: str = ""
    how_sure: str = ""
    cost: str = ""
    keep_in_mind: Annotated[list[str], Field(description="What weakens it, beside how sure it is")] = []
    differ_in: Annotated[str, Field(description="What decides between the sides")] = ""
    written_by: Annotated[str, Field(description="writer, or server: composed of reviews")] = ""
    problem: Annotated[str, Field(description="Why there is no report or advice")] = ""
    side: Annotated[str, Field(description="Whose position leads, of judges and voters")] = ""
    findings: Annotated[list[Finding], Field(description="What each judge or voter says, by side")] = []
    so_far: Annotated[list[str], Field(description="Unchecked answers, before the end")] = []


class Line(NamedTuple):
    """A line: its head, and what it says; `is_ours` for the server's words, which need no quotation marks."""

    head: str
    text: str
    is_ours: bool = False


def build_lines(
    panel: Panel, count: Count, *, record: str = UNMEASURED, cost: str = "", problem: str = ""
) -> AnswerLines:
    """The lines of the answer format. `record`: what advice of these models has been worth."""
    report, author = find_report(panel, count)
    if not panel.answers:
        return AnswerLines(head="No answer", problem=problem, cost=cost)
    value, wrong = find_value(panel, count), list_mine_errors(panel)
    agreement = describe_agreement(panel, count)
    return AnswerLines(
        head=name_outcome(count),
        recommendation=report.recommendation,
        value="" if has_value(report.recommendation, value) else value,
        branches=[*report.branches],
        mine=describe_mine(panel, count),
        wrong_in_mine=[tell_mentions(panel, format_correction(error)) for error in wrong],
        premise=report.premise,
        because=report.because,
        corrected=[row for row in report.corrected if not any(quotes(row.text, error) for error in wrong)],
        missed=[*report.missed],
        changes_if=report.changes_if,
        next=report.next,
        against=report.against.text if report.against else "",
        assumed=report.assumed,
        how_sure=f"{agreement} {record}" if agreement else "",
        cost=cost,
        written_by=author,
        problem=problem,
    )


def quotes(text: str, error: Correction) -> bool:
    """Whether a text has the words that an error is in."""
    return bool(error.words) and fold(error.words) in fold(text)


def has_value(text: str, value: str) -> bool:
    """Whether a text says a whole value already, in whatever case; "4" is not said by "14", nor by "4.5".

    Of a percentage its number is enough, if it is a percentage in the text too.
    """
    parts = [fold(part).casefold().strip(" :;,.") for part in value.split(" / ")]
    return all(re.search(build_value_pattern(part), fold(text).casefold()) for part in parts if part)


def build_value_pattern(part: str) -> str:
    share = _SHARE.match(part)
    wanted = (
        rf"{re.escape(share[1])}\s*(?:[{_PERCENT_SIGNS}]|per\s?cent\b)"
        if share
        else rf"{re.escape(part)}(?!\w)"
    )
    return rf"(?<!\w)(?<!\d[.,]){wanted}(?![.,]?\d)"


def list_lines(answer: AnswerLines, debate_id: str = "") -> list[Line]:
    """The lines in their order, without empty ones; the last one ends with the id of the debate."""
    value = f"{answer.value}: " if answer.value else ""
    rows = [Line(answer.head, f"{value}{answer.recommendation}")] if answer.recommendation else []
    rows += [Line(answer.head, answer.problem, is_ours=True)] if answer.head and not rows else []
    rows += [Line(f"If {one.condition}" if one.condition else "Or", one.advice) for one in answer.branches]
    wrong = [Line(WORDS["wrong_in_mine"], text) for text in answer.wrong_in_mine]
    rows = [Line(WORDS["mine"], answer.mine, is_ours=True), *wrong, *rows]
    rows += [Line(WORDS["premise"], answer.premise), Line(WORDS["because"], answer.because)]
    rows += [Line(WORDS["corrected"], row.text) for row in answer.corrected]
    rows += [Line(WORDS["missed"], row.text) for row in answer.missed]
    rows += [Line(WORDS[key], getattr(answer, key)) for key in ("changes_if", "next", "against", "assumed")]
    others = [one for one in answer.findings if not answer.side or one.side != answer.side]
    rows += [line_of(one) for one in others if one.text != answer.against]
    rows += [Line(WORDS["how_sure"], answer.how_sure, is_ours=True)]
    rows += [Line(WORDS["keep_in_mind"], text, is_ours=True) for text in answer.keep_in_mind]
    cost = f"{answer.cost} Debate {debate_id}" if answer.cost and debate_id else answer.cost
    rows += [Line(WORDS["cost"], cost, is_ours=True)]
    return [row for row in rows if row.text]


def line_of(finding: Finding) -> Line:
    return Line(f"{finding.seat}, {finding.stand}", finding.text)


def format_lines(answer: AnswerLines, debate_id: str = "") -> str:
    """The lines as Markdown: what models wrote stands quoted, so that it cannot pass for ours."""
    return "\n".join(map(format_line, list_lines(answer, debate_id)))


def format_so_far(answer: AnswerLines) -> str:
    """The answers that nobody has checked yet, as Markdown; "" where there are none, or where it has ended."""
    lines = [f"- {format_line(Line('', text)).removeprefix('****: ')}" for text in answer.so_far]
    return "\n".join(["**So far, checked by nobody**", *lines]) if lines else ""


def format_line(line: Line) -> str:
    head = f"- {quote_head(line.head)}" if line.head.startswith("If ") else f"**{line.head}**"
    if line.is_ours:
        return f"{head}: {line.text}"
    if "\n" in clean(line.text):
        return f"{head}:\n{quote(line.text)}"
    return f"{head}: {quote_inline(line.text, WHOLE)}"


def quote_head(head: str) -> str:
    """The head of a case: its condition is a model's."""
    return f"If {quote_inline(head.removeprefix('If '), WHOLE)}"
