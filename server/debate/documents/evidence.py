"""How good the evidence of each point is, by rules: from what can be checked, computed, or was declared.

Five factors, each with its basis. Unknown factors are `unknown`, and never count as good. Words such as "therefore",
numbers, and citations outside a found quote are no evidence: anybody can write them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from server.debate.arguments.points import Point, format_id, split_turn
from server.debate.arguments.sources import Source
from server.debate.documents.marks import CheckedQuote, check_quotes
from server.debate.documents.sections import describe_place
from server.debate.facts.events import Spoke
from server.debate.facts.setup.documents import Reliability
from server.debate.facts.text import format_count
from server.debate.state.debate import Debate
from server.debate.state.memo import once
from server.debate.state.seats import hides

Basis = Literal["checked", "computed", "declared", "judged", "unknown"]
Level = Literal["LOW", "MEDIUM", "HIGH"]

_HOST = re.compile(r"^[a-z][a-z0-9+.-]*://(?:[^/@]*@)?([^/:?#]+)", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_NAME = re.compile(r"(?<=[\w,;] )[A-Z][\w-]+")  # within a sentence; fails where all nouns have capitals


@dataclass(frozen=True, slots=True)
class Factor:
    name: str
    value: str = ""  # in words
    basis: Basis = "unknown"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of a point: its quotes, and what is known about them."""

    point: Point
    quotes: tuple[CheckedQuote, ...]
    level: Level
    factors: tuple[Factor, ...]

    @property
    def coverage(self) -> Fraction:
        """The share of known factors. It is not a confidence: nothing here is calibrated."""
        return Fraction(sum(factor.basis != "unknown" for factor in self.factors), len(self.factors))


@once
def weigh_evidence(debate: Debate) -> tuple[Evidence, ...]:
    """The evidence of every point of turns that were not retracted, in the order recorded."""
    return tuple(
        weigh_point(debate, point, quotes)
        for turn in debate.turns
        if debate.is_active(turn)
        for point, quotes in share_quotes(debate, turn)
    )


def share_quotes(debate: Debate, turn: Spoke) -> Iterator[tuple[Point, tuple[CheckedQuote, ...]]]:
    """The points of a turn, each with the quotes that end in it; the first also gets those before it."""
    points, start = split_turn(debate, turn).points, 0
    quotes = check_quotes(debate, turn.text, turn.seen)
    for point in points:
        end = point.span.end
        yield point, tuple(quote for quote in quotes if start < quote.quote.end <= end)
        start = end


def weigh_point(debate: Debate, point: Point, quotes: tuple[CheckedQuote, ...]) -> Evidence:
    found_quotes = [quote for quote in quotes if quote.span]
    sources = list({quote.source.number: quote.source for quote in found_quotes if quote.source}.values())
    factors = (
        rate_reliability(sources),
        rate_recency(sources),
        rate_relevance(debate, point),
        rate_corroboration(sources),
        rate_specificity([quote.quote.text for quote in found_quotes]),
    )
    return Evidence(point, quotes, rate_evidence(quotes, factors), factors)


def rate_evidence(quotes: Sequence[CheckedQuote], factors: Iterable[Factor]) -> Level:
    """LOW without a quote or if one was not found; HIGH if all are complete, good, and judged relevant."""
    spans = [quote.span for quote in quotes]
    if not spans or None in spans:
        return "LOW"
    if any(span and span.omits_words for span in spans):
        return "MEDIUM"
    by_name = {factor.name: factor for factor in factors}
    is_good = by_name["reliability"].value == "high" or by_name["corroboration"].value == "yes"
    return "HIGH" if is_good and by_name["relevance"].basis == "judged" else "MEDIUM"


def rate_reliability(sources: Sequence[Source]) -> Factor:
    """The lowest declared reliability of the sources; unknown if one is not declared."""
    order: tuple[Reliability, ...] = ("low", "medium", "high")
    reliabilities = [source.reliability for source in sources]
    if not reliabilities or "unknown" in reliabilities:
        return Factor("reliability")
    return Factor("reliability", min(reliabilities, key=order.index), "declared")


def rate_recency(sources: Sequence[Source]) -> Factor:
    """The declared date of the oldest source; the reader judges its age."""
    dates = [source.published for source in sources]
    if not dates or "" in dates:
        return Factor("recency")
    return Factor("recency", min(dates), "declared")


def rate_relevance(debate: Debate, point: Point) -> Factor:
    """The judges who named the point as decisive in all their readings; unknown without any."""
    readings: dict[str, list[bool]] = {}
    for judgment in debate.judgments:
        if judgment.informative and not hides(debate.setup, debate.setup.hidden_from_client, judgment.seat):
            readings.setdefault(judgment.seat, []).append(point.id in judgment.cited)
    judges = sorted(judge for judge, flags in readings.items() if all(flags))
    return Factor("relevance", f"named by {', '.join(judges)}", "judged") if judges else Factor("relevance")


def rate_corroboration(sources: Sequence[Source]) -> Factor:
    """Whether quotes from different texts of different sites were found. It is unknown if a text's origin is."""
    if not sources:
        return Factor("corroboration")
    if len({source.text for source in sources}) == 1:
        return Factor("corroboration", "no", "computed")
    sites = {extract_site(source.url) for source in sources}
    if "" in sites:
        return Factor("corroboration")
    return Factor("corroboration", "yes" if len(sites) > 1 else "no", "computed")


def extract_site(url: str) -> str:
    """The registrable part of a host, guessed from its form: example.co.uk for www.example.co.uk; "" without a host."""
    host = _HOST.match(url)
    labels = host[1].casefold().rstrip(".").split(".") if host else []
    if not labels or labels[-1].isdigit():  # a numeric address counts as one site
        return ".".join(labels)
    has_second = len(labels[-1]) == 2 and len(labels[-2:][0]) <= 3  # noqa: PLR2004  (co.uk, com.au)
    return ".".join(labels[-3 if has_second else -2 :])


def rate_specificity(quotes: Sequence[str]) -> Factor:
    """How many numbers and names the found quotes contain; other words do not count."""
    if not quotes:
        return Factor("specificity")
    numbers = format_count(sum(len(_NUMBER.findall(quote)) for quote in quotes), "number")
    names = format_count(sum(len(_NAME.findall(quote)) for quote in quotes), "name")
    return Factor("specificity", f"{numbers}, {names}", "computed")


def describe_age(published: str, at: str) -> str:
    """How long before a moment something was published, in whole months or years. Both in ISO 8601, or ""."""
    if not at:
        return ""
    years = int(at[:4]) - int(published[:4])
    if len(published) < len("2024-05"):
        return f"published {published}, {format_count(years, 'year')} before" if years >= 0 else ""
    months = years * 12 + int(at[5:7]) - int(published[5:7])
    return f"published {published}, {format_count(months, 'month')} before" if months >= 0 else ""


def count_quotes(debate: Debate, seat: str = "") -> tuple[int, int]:
    """(found, not found): quotes of documents in the turns of one debater, or of all."""
    quotes = [
        quote
        for evidence in weigh_evidence(debate)
        if seat in ("", evidence.point.id.seat)
        for quote in evidence.quotes
    ]
    found_count = sum(quote.span is not None for quote in quotes)
    return found_count, len(quotes) - found_count


def describe_lost_quotes(debate: Debate, winner: str) -> str:
    """A caution if at least half of the winner's quotes were not found; "" otherwise."""
    found_count, lost_count = count_quotes(debate, winner) if winner else (0, 0)
    if not lost_count or found_count > lost_count:
        return ""
    total = format_count(found_count + lost_count, "quote")
    verb = "was" if lost_count == 1 else "were"
    return f"{lost_count} of {total} in the winner's case {verb} not found in the documents."


def build_evidence(debate: Debate, at: str) -> list[dict[str, Any]]:
    """A row for each point that quotes documents. `at`: when the debate was opened, in ISO 8601."""
    return [build_row(evidence, at) for evidence in weigh_evidence(debate) if evidence.quotes]


def build_row(evidence: Evidence, at: str) -> dict[str, Any]:
    """`coverage` is the share of known factors. It is not a confidence."""
    return {
        "point": format_id(evidence.point.id, evidence.point.id.seat),
        "level": evidence.level,
        "coverage": str(evidence.coverage),
        "quotes": [build_quote(quote) for quote in evidence.quotes],
        "factors": [build_factor(factor, at) for factor in evidence.factors],
    }


def build_quote(quote: CheckedQuote) -> dict[str, Any]:
    row: dict[str, Any] = {"doc": quote.quote.document, "quote": quote.quote.text, "mark": quote.mark}
    if quote.source and quote.span:
        row |= {"start": quote.span.start, "end": quote.span.end}
        row["place"] = describe_place(quote.source.text, quote.span.start)
    return row


def build_factor(factor: Factor, at: str) -> dict[str, str]:
    if factor.name == "recency" and factor.value and (age := describe_age(factor.value, at)):
        return {"factor": "recency", "value": age, "basis": "computed"}
    return {"factor": factor.name, "value": factor.value, "basis": factor.basis}
