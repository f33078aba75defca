"""The evidence of each point as data: its quotes with their places, its factors, each with how it was obtained."""

from typing import Any

from server.debate.arguments.points import format_id
from server.debate.documents.evidence import Evidence, Factor, describe_age, weigh_evidence
from server.debate.documents.marks import CheckedQuote
from server.debate.documents.places import describe_place
from server.debate.state.debate import Debate


def build_evidence(debate: Debate, at: str) -> list[dict[str, Any]]:
    """A row for each point that quotes documents. `at`: when the debate was opened, in ISO 8601."""
    return [build_row(one, at) for one in weigh_evidence(debate) if one.quotes]


def build_row(evidence: Evidence, at: str) -> dict[str, Any]:
    """`coverage` is the share of the factors of which anything is known. It is no confidence."""
    return {
        "point": format_id(evidence.point.id, evidence.point.id.seat),
        "level": evidence.level,
        "coverage": str(evidence.coverage),
        "quotes": [build_quote(quote) for quote in evidence.quotes],
        "factors": [build_factor(factor, at) for factor in evidence.factors],
    }


def build_quote(checked: CheckedQuote) -> dict[str, Any]:
    row: dict[str, Any] = {"doc": checked.quote.document, "quote": checked.quote.text, "mark": checked.mark}
    if checked.source and checked.span:
        row |= {"start": checked.span.start, "end": checked.span.end}
        row["place"] = describe_place(checked.source.text, checked.span.start)
    return row


def build_factor(factor: Factor, at: str) -> dict[str, str]:
    value, basis = factor.value, factor.basis
    if factor.name == "recency" and value and (age := describe_age(value, at)):
        return {"factor": "recency", "value": age, "basis": "computed"}
    return {"factor": factor.name, "value": value, "basis": basis}
