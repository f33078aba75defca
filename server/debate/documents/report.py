"""The evidence of each point as data: its quotes with their positions, and its factors with their basis."""

from typing import Any

from server.debate.arguments.points import format_id
from server.debate.documents.evidence import Evidence, Factor, describe_age, weigh_evidence
from server.debate.documents.marks import CheckedQuote
from server.debate.documents.places import describe_place
from server.debate.state.debate import Debate


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
    value, basis = factor.value, factor.basis
    if factor.name == "recency" and value and (age := describe_age(value, at)):
        return {"factor": "recency", "value": age, "basis": "computed"}
    return {"factor": factor.name, "value": value, "basis": basis}
