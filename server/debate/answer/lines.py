"""The lines that people read: of every format, and wherever a result is shown, from one object."""

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Annotated, NamedTuple

from pydantic import BaseModel, Field

from server.debate.answer.count import AdviceCount, describe_agreement, name_outcome
from server.debate.answer.languages import find_language, join_sentences, say, say_head
from server.debate.answer.mentions import tell_mentions
from server.debate.answer.panel import Panel
from server.debate.answer.report import (
    describe_mine,
    drop_range,
    find_report,
    find_value,
    format_correction,
    list_mine_errors,
)
from server.debate.answer.sides import read_share
from server.debate.documents.folding import fold
from server.debate.facts.advice import Branch, Correction, FinalAnswer, Sourced
from server.debate.facts.quoting import quote, quote_inline
from server.debate.facts.setup.ledger import Standing
from server.debate.facts.text import clean

UNMEASURED = "Not measured on your questions yet."

NOBODY = "it ended before anybody had given one that counts."

_PERCENT_SIGNS = "%\uff05\u066a"
_SHARE = re.compile(rf"(\d+(?:[.,]\d+)?)\s*[{_PERCENT_SIGNS}]")

WHOLE = 10**9
"""A limit of bytes that cuts nothing."""


class Finding(BaseModel):
    """What a judge or voter says. `side`: what its vote is for; "" where it counts for nobody."""

    seat: str
    side: str
    stand: str  # such as "for Ada"
    text: str


class AnswerLines(BaseModel):
    """What comes out of a debate, to be read and acted on; "" and [] for what there is not."""

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
    written_by: Annotated[str, Field(description="writer: a model; server: composed of reviews")] = ""
    problem: Annotated[str, Field(description="Why there is no report or advice")] = ""
    side: Annotated[str, Field(description="Whose position leads, of judges and voters")] = ""
    findings: Annotated[list[Finding], Field(description="What each judge or voter says, by side")] = []
    so_far: Annotated[list[str], Field(description="Unchecked answers, before the end")] = []


class Line(NamedTuple):
    """A line: its head, and what it says. The rest of a writer's text, which has headings of its own, has none.

    `is_ours`: the server's words, which need no quotation marks. `is_lead`: the line that says what to do. `case`: what
    a head says after its "If", in the words of a model. `is_heading`: of the lines below it, without a text.
    """

    head: str
    text: str
    is_ours: bool = False
    is_lead: bool = False
    case: str = ""
    is_heading: bool = False


def build_lines(
    panel: Panel, count: AdviceCount, *, standings: Sequence[Standing] = (), cost: str = "", problem: str = ""
) -> AnswerLines:
    """The lines of the answer format. `standings`: what advice of these models has been worth."""
    report, author = find_report(panel, count)
    if not panel.answers:
        return AnswerLines(head="No answer", problem=problem or NOBODY, cost=cost)
    wrong = list_mine_errors(panel)
    language = find_language_of(report)
    agreement = describe_agreement(panel, count, language)
    return AnswerLines(
        head=name_outcome(count),
        recommendation=report.recommendation,
        value=find_value(panel, count),
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
        how_sure=join_sentences((agreement, describe_record(standings, language)), language)
        if agreement
        else "",
        cost=cost,
        written_by=author,
        problem=problem,
    )


def find_language_of(answer: AnswerLines | FinalAnswer) -> str:
    """The language of what models wrote in it; its recommendation may be ours."""
    advice = " ".join(one.advice for one in answer.branches)
    return find_language(f"{answer.recommendation} {answer.because} {answer.next} {advice}")


def describe_record(standings: Sequence[Standing], language: str = "en") -> str:
    """How often the advice of these models was right where the outcome is known."""
    if not standings:
        return say(UNMEASURED, language)
    records = ", ".join(say("{0} {1} of {2}", language, one.judge, one.right, one.asked) for one in standings)
    return say("On your settled questions their advice was right: {0}.", language, records)


def list_lead(answer: AnswerLines) -> list[str]:
    """The value, where the recommendation does not say it, and the recommendation.

    A writer knew the value, and says it in its own way; only a percentage, which is a mean, has to stand as it is.
    """
    is_told = answer.written_by == "writer" and read_share(drop_range(answer.value)) is None
    value = "" if is_told or has_value(answer.recommendation, answer.value) else answer.value
    return [*filter(None, (value, answer.recommendation))]


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
    """The lines in their order, without empty ones; the last one ends with the id of the debate.

    What to do comes first, then why. Our words are in the language of the answer, where it has them.
    """
    language = find_language_of(answer)

    def row(head: str, text: str, *, is_ours: bool = False, is_lead: bool = False) -> Line:
        return Line(say_head(head, language), text, is_ours, is_lead)

    rows = [row("Your answer", say(answer.mine, language), is_ours=True)]
    rows += [row("Wrong in it", text) for text in answer.wrong_in_mine]
    if answer.recommendation:
        rows.append(row(answer.head, ": ".join(list_lead(answer)), is_lead=True))
    elif answer.head:
        rows.append(row(answer.head, answer.problem, is_ours=True, is_lead=True))
    lead = len(rows) - 1
    if any(one.condition for one in answer.branches):
        rows.append(Line(say("By case", language), "", is_heading=True))
    rows += [
        Line(say("If {0}", language, one.condition), one.advice, case=one.condition)
        if one.condition
        else row(("Or" if place else "Either") if len(answer.branches) > 1 else "One answer", one.advice)
        for place, one in enumerate(answer.branches)
    ]
    corrected = [row("Corrected", one.text) for one in answer.corrected]
    reasons = [row("Next", answer.next), row("Because", answer.because)]
    if answer.written_by == "writer":
        rows.insert(lead + 1, Line("", answer.because))
        reasons = []
    rows.append(row("About the question", answer.premise))
    # What corrects an error that all sides share comes first, where judges decide between sides.
    rows += [*corrected, *reasons] if answer.side or answer.findings else [*reasons, *corrected]
    rows += [row("Also found", one.text) for one in answer.missed]
    rows += [
        row("Changes if", answer.changes_if),
        row("Against it", answer.against),
        row("Assumed", answer.assumed),
    ]
    others = [one for one in answer.findings if not answer.side or one.side != answer.side]
    rows += [line_of(one) for one in others if one.text != answer.against]
    rows += [row("How sure", answer.how_sure, is_ours=True)]
    rows += [row("Keep in mind", text, is_ours=True) for text in answer.keep_in_mind]
    cost = f"{answer.cost} Debate {debate_id}" if answer.cost and debate_id else answer.cost
    rows += [row("Cost", cost, is_ours=True)]
    return [one for one in rows if one.text or one.is_heading]


def line_of(finding: Finding) -> Line:
    return Line(f"{finding.seat}, {finding.stand}", finding.text)


def format_lines(answer: AnswerLines, debate_id: str = "") -> str:
    """The lines as Markdown: what models wrote stands quoted, so that it cannot pass for ours."""
    lines = list_lines(answer, debate_id)
    told: list[str] = []
    for line, following in zip_longest(lines, lines[1:]):
        is_last_case = line.case and following and not following.case
        told += [format_line(line), *([""] if is_last_case else [])]  # else the rest would belong to the list
    return "\n".join(told)


def format_so_far(answer: AnswerLines) -> str:
    """The first answers, as Markdown; "" where there are none, or where the debate has ended."""
    lines = [f"- {quote_inline(text, WHOLE)}" for text in answer.so_far]
    return "\n".join(["**The first answers, before any check**", *lines]) if lines else ""


def format_line(line: Line) -> str:
    if not line.head:
        return quote(line.text)
    head = f"**{line.head}**"
    if line.is_heading:
        return f"{head}:"
    if line.case:
        before, _, after = line.head.partition(line.case)
        head = f"- {before}{quote_inline(line.case, WHOLE)}{after}"
    if line.is_ours:
        return f"{head}: {line.text}"
    if "\n" in clean(line.text):
        return f"{head}:\n{quote(line.text)}"
    return f"{head}: {quote_inline(line.text, WHOLE)}"
