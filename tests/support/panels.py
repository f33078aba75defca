"""Panels of the answer format, played from letters: what each seat advises, follows and says in an exchange."""

from collections.abc import Collection, Sequence
from typing import Any

from server.debate.answer.panel import Panel
from server.debate.facts.advice import Advised, Correction, Exchanged, Reported, Reviewed
from server.debate.facts.answers import Usage
from server.debate.facts.setup.options import EffortLevel

FAMILIES = ("alpha", "beta", "gamma")
LABELS = ("K7", "Q31", "T5", "V88", "B4", "M62", "P9", "Z3")

Final = tuple[str, int]
"""(the letters of the answers that a review follows, its probability)."""

Told = tuple[Collection[int], str, int]
"""(the seats whose advice it calls the same, what moved it, its probability)."""


SURE, CLEAR, CLOSE, EVEN = 90, 80, 70, 55


def all_of(letters: str, probability: int, number: int = 2) -> list[Final]:
    return [(letters, probability)] * number


APART = [("A", CLEAR), ("B", CLEAR)]
TWO_TO_ONE = [("A", SURE), ("A", SURE), ("B", CLEAR)]
NOBODY: Told = ((), "", CLOSE)
COMBINED = "Agreed on a combination"

CASES: dict[str, tuple[str, list[Final], list[Told], set[str], dict[str, Any], str, str]] = {
    # blind, reviews, exchange, failures, set-up: outcome, head
    "two alike, apart and after reading": ("AA", all_of("A", SURE), [], set(), {}, "decided", "Agreed"),
    "one of them less sure": ("AA", [("A", SURE), ("A", CLOSE)], [], set(), {}, "leaning", "Leaning"),
    "both unsure": ("AA", all_of("A", EVEN), [], set(), {}, "undecided", "Unsure"),
    "apart, then alike": ("AB", all_of("A", SURE), [], set(), {}, "leaning", "Leaning"),
    "both reject both, and mean the same": (
        "AA", all_of("", SURE), [([1], "", SURE), ([0], "", SURE)], set(), {}, "synthesis", COMBINED,
    ),
    "both combine, and mean the same": (
        "AB", all_of("AB", CLEAR), [([1], "", CLEAR), ([0], "", CLEAR)], set(), {}, "synthesis", COMBINED,
    ),
    "both combine, and differ": ("AB", all_of("AB", CLEAR), [NOBODY, NOBODY], set(), {}, "contested", "Divided"),
    "divided to the end": ("AB", APART, [NOBODY, NOBODY], set(), {}, "contested", "Divided"),
    "one is moved": ("AB", APART, [NOBODY, ([0], "a point", CLEAR)], set(), {}, "leaning", "Leaning"),
    "only one says the same": ("AB", APART, [([1], "", CLEAR), NOBODY], set(), {}, "contested", "Divided"),
    "each is moved to the other's": (
        "AB", APART, [([1], "p", CLEAR), ([0], "p", CLEAR)], set(), {}, "contested", "Divided",
    ),
    "one review fails": ("AA", all_of("A", SURE), [], {"review.2"}, {}, "leaning", "Leaning"),
    "one answer fails": ("AA", all_of("A", SURE), [], {"answer.2"}, {}, "leaning", "Leaning"),
    "one of two gives nothing": ("AA", all_of("A", SURE), [], {"answer.2", "review.2"}, {}, "leaning", "Leaning"),
    "both reviews fail": ("AA", all_of("A", SURE), [], {"review.1", "review.2"}, {}, "undecided", "Open"),
    "one exchange fails": ("AB", APART, [NOBODY, NOBODY], {"exchange.2"}, {}, "contested", "Divided"),
    "one family": ("AA", all_of("A", 95), [], set(), {"families": ("alpha", "alpha")}, "leaning", "Leaning"),
    "three alike": ("AAA", all_of("A", CLEAR, 3), [], set(), {}, "decided", "Agreed"),
    "three alike, one had answered otherwise": ("AAB", all_of("A", CLEAR, 3), [], set(), {}, "leaning", "Leaning"),
    "two to one": (
        "AAB", TWO_TO_ONE, [([1], "", SURE), ([0], "", SURE), NOBODY], set(), {}, "contested", "2 of 3 advise",
    ),
    "two to one, and the one is moved": (
        "AAB", TWO_TO_ONE, [([1], "", SURE), ([0], "", SURE), ([0, 1], "p", CLEAR)], set(), {}, "leaning", "Leaning",
    ),
    "one to one to one": (
        "ABC", [("A", CLEAR), ("B", CLEAR), ("C", CLEAR)], [NOBODY] * 3, set(), {}, "contested", "Divided",
    ),
    "three alike, one review fails": ("AAA", all_of("A", SURE, 3), [], {"review.3"}, {}, "leaning", "Leaning"),
    "one of three gives nothing": (
        "AAA", all_of("A", SURE, 3), [], {"answer.3", "review.3"}, {}, "leaning", "Leaning",
    ),
    "quick, alike": ("AA", all_of("A", SURE), [], set(), {"level": "quick"}, "leaning", "Leaning"),
    "quick, apart": ("AB", [("", 0), ("B", SURE)], [], set(), {"level": "quick"}, "contested", "Divided"),
    "quick, one family, other advice": ("A", [("", SURE)], [], set(), {"level": "quick"}, "synthesis", "Leaning"),
    "quick, one family": ("A", [("A", SURE)], [], set(), {"level": "quick"}, "leaning", "Leaning"),
    "quick, the only review fails": (
        "AA", all_of("A", SURE), [], {"review.2"}, {"level": "quick"}, "undecided", "Open",
    ),
}  # fmt: skip


def play_panel(
    blind: str,
    finals: Sequence[Final],
    exchange: Sequence[Told] = (),
    failed: Collection[str] = (),
    *,
    level: EffortLevel = "standard",
    families: Sequence[str] = FAMILIES,
    **changes: Any,
) -> Panel:
    """A panel whose seats answered `blind`, a letter each. `failed`: "answer.1", "review.2", "exchange.1"."""
    seats = tuple(f"Advisor {number}" for number in range(1, len(blind) + 1))
    reviewers = seats[-1:] if level == "quick" else seats
    usable = [seat for seat in seats if f"answer.{seat[-1]}" not in failed]
    advised = {
        seat: build_answer(seat, f"Advice {letter}")
        for seat, letter in zip(seats, blind, strict=True)
        if seat in usable
    }
    letters = dict(zip(seats, blind, strict=True))
    groups = tuple(
        tuple(seat for seat in usable if letters[seat] == letter)
        for letter in dict.fromkeys(map(letters.get, usable))
    )
    reviewed = {
        seat: (
            build_review(
                seat,
                f"Advice {follows or seat}",
                probability=probability,
                groups=groups,
                follows=tuple(one for one in usable if letters[one] in follows),
            ),
        )
        for seat, (follows, probability) in zip(seats, finals, strict=False)
        if seat in reviewers and f"review.{seat[-1]}" not in failed
    }
    exchanged = {
        seat: Exchanged(
            **common(seat, 3),
            recommendation="Advice after the exchange",
            same_as=tuple(seats[other] for other in same),
            moved=bool(moved),
            moved_by=moved,
            probability=probability,
        )
        for seat, (same, moved, probability) in zip(seats, exchange, strict=False)
        if seat in reviewed and f"exchange.{seat[-1]}" not in failed
    }
    fields: dict[str, Any] = {
        "question": "Keep the queue in Postgres?",
        "advisors": seats,
        "reviewers": reviewers,
        "models": {seat: f"{family}/m" for seat, family in zip(seats, families, strict=False)},
        "families": dict(zip(seats, families, strict=False)),
        "labels": LABELS,
        "level": level,
        "advised": advised,
        "reviewed": reviewed,
        "exchanged": (exchanged,) if exchanged else (),
    }
    return Panel(**fields | changes)


def common(seat: str, round_number: int) -> dict[str, Any]:
    return {"seat": seat, "round": round_number, "seen": 1, "usage": Usage(model="m")}


def build_answer(seat: str, recommendation: str, **fields: Any) -> Advised:
    return Advised(**{**common(seat, 1), "recommendation": recommendation, "probability": 90, **fields})


def build_review(seat: str, recommendation: str, **fields: Any) -> Reviewed:
    return Reviewed(**{**common(seat, 2), "slot_index": 1, "recommendation": recommendation, **fields})


def build_report(text: str = "Keep it.\n\nIt is small.", slot_index: int = 0) -> Reported:
    return Reported(**{**common("writer", 4), "text": text, "slot_index": slot_index})


def build_error(
    *answers: str, words: str = "", right: str = "It is not.", matters: bool = True
) -> Correction:
    return Correction(answers=answers, words=words, right=right, matters=matters)
