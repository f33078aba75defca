"""How good the evidence of each point is: by rule, from what can be checked, computed, or was declared.

Five factors, each with its basis. What nothing is known of is `unknown`, and never counts as good. Words such as
"therefore", numbers and citations outside a quote that was found are no evidence: anybody can write them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from server.debate.arguments.points import Point, split_turn
from server.debate.arguments.sources import Source
from server.debate.documents.marks import CheckedQuote, check_quotes
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
_NAME = re.compile(r"(?<=[\w,;] )[A-Z][\w-]+")  # within a sentence; in languages that write no noun like this


@dataclass(frozen=True, slots=True)
class Factor:
    name: str
    value: str  # in words; "" where unknown
    basis: Basis


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of a point: its quotes, and what is known of them."""

    point: Point
    quotes: tuple[CheckedQuote, ...]
    level: Level
    factors: tuple[Factor, ...]

    @property
    def coverage(self) -> Fraction:
        """The share of the factors of which anything is known. It is no confidence: nothing here is calibrated."""
        return Fraction(sum(factor.basis != "unknown" for factor in self.factors), len(self.factors))


@once
def weigh_evidence(debate: Debate) -> tuple[Evidence, ...]:
    """The evidence of every point of the turns that were not retracted, in the order recorded."""
    return tuple(
        weigh_point(debate, point, quotes)
        for turn in debate.turns
        if debate.is_active(turn)
        for point, quotes in share_quotes(debate, turn)
    )


def share_quotes(debate: Debate, turn: Spoke) -> Iterator[tuple[Point, tuple[CheckedQuote, ...]]]:
    """The points of a turn, each with the quotes that end in it; the first also with those before it."""
    points, start = split_turn(debate, turn).points, 0
    quotes = check_quotes(debate, turn.text, turn.seen)
    for point in points:
        end = point.span.end
        yield point, tuple(quote for quote in quotes if start < quote.quote.end <= end)
        start = end


def weigh_point(debate: Debate, point: Point, quotes: tuple[CheckedQuote, ...]) -> Evidence:
    found = [quote for quote in quotes if quote.span]
    sources = list({quote.source.number: quote.source for quote in found if quote.source}.values())
    factors = (
        rate_reliability(sources),
        rate_recency(sources),
        rate_relevance(debate, point),
        rate_corroboration(sources),
        rate_specificity([quote.quote.text for quote in found]),
    )
    return Evidence(point, quotes, find_level(quotes, factors), factors)


def find_level(quotes: Sequence[CheckedQuote], factors: Iterable[Factor]) -> Level:
    """LOW without a quote, or with one that was not found; HIGH where all are whole, good, and judged relevant."""
    spans = [quote.span for quote in quotes]
    if not spans or None in spans:
        return "LOW"
    if any(span and span.omits_words for span in spans):
        return "MEDIUM"
    by_name = {factor.name: factor for factor in factors}
    is_good = by_name["reliability"].value == "high" or by_name["corroboration"].value == "yes"
    return "HIGH" if is_good and by_name["relevance"].basis == "judged" else "MEDIUM"


def rate_reliability(sources: Sequence[Source]) -> Factor:
    """The least that was declared of any of the sources; unknown where nothing was."""
    order: tuple[Reliability, ...] = ("low", "medium", "high")
    declared = [source.reliability for source in sources]
    if not declared or "unknown" in declared:
        return Factor("reliability", "", "unknown")
    return Factor("reliability", min(declared, key=order.index), "declared")


def rate_recency(sources: Sequence[Source]) -> Factor:
    """When the oldest of the sources was published, as declared; how long ago is left to the reader."""
    published = [source.published for source in sources]
    if not published or "" in published:
        return Factor("recency", "", "unknown")
    return Factor("recency", min(published), "declared")


def rate_relevance(debate: Debate, point: Point) -> Factor:
    """Which judges named the point as one that decides, in every reading of theirs; unknown where none did."""
    readings: dict[str, list[bool]] = {}
    for judged in debate.judgments:
        if judged.informative and not hides(debate.setup.hidden_from_client, judged.seat):
            readings.setdefault(judged.seat, []).append(point.id in judged.cited)
    named = sorted(judge for judge, cited in readings.items() if all(cited))
    return (
        Factor("relevance", f"named by {', '.join(named)}", "judged")
        if named
        else Factor("relevance", "", "unknown")
    )


def rate_corroboration(sources: Sequence[Source]) -> Factor:
    """Whether quotes of another text from another site were found, too. Where texts come from may be unknown."""
    if not sources:
        return Factor("corroboration", "", "unknown")
    if len({source.text for source in sources}) == 1:
        return Factor("corroboration", "no", "computed")
    sites = {find_site(source.url) for source in sources}
    if "" in sites:
        return Factor("corroboration", "", "unknown")
    return Factor("corroboration", "yes" if len(sites) > 1 else "no", "computed")


def find_site(url: str) -> str:
    """The registrable part of a host, as far as its form tells: example.co.uk of www.example.co.uk; "" without one."""
    found = _HOST.match(url)
    labels = found[1].casefold().rstrip(".").split(".") if found else []
    if not labels or labels[-1].isdigit():  # an address in numbers is a site of its own
        return ".".join(labels)
    has_second = len(labels[-1]) == 2 and len(labels[-2:][0]) <= 3  # noqa: PLR2004  (co.uk, com.au)
    return ".".join(labels[-3 if has_second else -2 :])


def rate_specificity(quotes: Sequence[str]) -> Factor:
    """How many numbers and names the quotes hold that were found; what stands around them is anybody's."""
    if not quotes:
        return Factor("specificity", "", "unknown")
    numbers = sum(len(_NUMBER.findall(quote)) for quote in quotes)
    names = sum(len(_NAME.findall(quote)) for quote in quotes)
    return Factor(
        "specificity", f"{format_count(numbers, 'number')}, {format_count(names, 'name')}", "computed"
    )


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
    """How many quotes of documents were found and how many not, in the turns of one debater or of all."""
    quotes = [
        quote for one in weigh_evidence(debate) if seat in ("", one.point.id.seat) for quote in one.quotes
    ]
    found = sum(quote.span is not None for quote in quotes)
    return found, len(quotes) - found


def describe_lost_quotes(debate: Debate, winner: str) -> str:
    """What weakens a winner's case: half of its quotes or more were not found. "" where there is nothing to say."""
    found, lost = count_quotes(debate, winner) if winner else (0, 0)
    if not lost or found > lost:
        return ""
    total = format_count(found + lost, "quote")
    return (
        f"{lost} of {total} in the winner's case {'was' if lost == 1 else 'were'} not found in the documents."
    )
