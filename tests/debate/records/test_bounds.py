"""What a record may hold at most: the limits of every text and number, to the last character and to one beyond."""

from typing import Any, cast

import pytest

from server.debate.facts import answers, escalation, events
from server.debate.facts.answers import Usage
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.fact import Fact
from server.debate.facts.interventions import InterventionFact, NoteAdded, Tagged
from server.debate.facts.setup.documents import Document
from server.debate.facts.setup.limits import Price
from server.debate.facts.setup.opened import Opened
from server.debate.interventions.registry import REGISTRY
from server.debate.records.bounds import check_contribution, list_text_lengths
from server.debate.seats.observer import Mark
from server.debate.seats.referee import Audited
from tests.support.records import list_parts

pytestmark = pytest.mark.requirement("D8")

USAGE = Usage(model="m", cost_usd="0")

TEXTS: tuple[tuple[type[Fact], str, int], ...] = (
    (events.PhaseEntered, "because", 200),  # a name, which has no row
    (events.PhaseEntered, "detail", 2_500),
    (events.Judged, "verdict reasoning recommendation would_change", 4_000),
    (answers.Lookup, "arguments failed", 4_000),
    (Audited, "text", 12_000),  # of a seat
    (Mark, "why", 400),
    (NoteAdded, "text", 8_000),  # of an action
    (NoteAdded, "request_id", 100),
    (Tagged, "request_id", 100),  # by the row of its base
    (Opened, "tags", 60),
    (Document, "text", 2_000_000),
)

NUMBERS: tuple[tuple[type[Fact], dict[str, Any], str, int], ...] = (
    *((Usage, {}, name, 10**12) for name in ("input_tokens", "cached_tokens", "output_tokens")),
    (Usage, {}, "milliseconds", 10**9),
    (Usage, {}, "attempts", 10_000),
    (Usage, {}, "cost_usd", 1_000_000),
    (Price, {"model": "m", "output": "1"}, "input", 1_000),
    (Price, {"model": "m", "input": "1"}, "output", 1_000),
    (events.Failed, {"seat": "Ada", "round": 1, "cause": "timeout"}, "attempts", 10_000),
    (escalation.Spent, {}, "reused_turns", 20_000),
)


def build(kind: Any, **fields: Any) -> Fact:
    """A fact of which only these fields are known."""
    return cast(Fact, kind.model_construct(**fields))


def is_accepted(fact: Fact) -> bool:
    try:
        check_contribution([fact], "somebody")
    except InvalidRequestError:
        return False
    return True


@pytest.mark.parametrize(("kind", "names", "most"), TEXTS, ids=lambda one: getattr(one, "__name__", one))
def test_a_text_is_as_long_as_whoever_wrote_it_could_make_it(kind: type[Fact], names: str, most: int) -> None:
    for name in names.split():
        for length, is_right in ((most, True), (most + 1, False)):
            text: Any = ("ab\n" if most != 200 else "ab ") * (length // 3) + "x" * (length % 3)
            fields: dict[str, Any] = {"usage": USAGE, name: (text,) if name == "tags" else text}
            assert is_accepted(build(kind, **fields)) is is_right, (name, length)


@pytest.mark.parametrize(("kind", "others", "name", "most"), NUMBERS)
def test_a_number_is_not_beyond_all_measure(
    kind: type[Fact], others: dict[str, Any], name: str, most: int
) -> None:
    for number, is_right in ((most, True), (most + 1, False)):
        fields = {"attempts": 1, **({"model": "m"} if kind is Usage else {}), **others, name: number}
        assert is_accepted(build(kind, **fields)) is is_right, number


def test_each_text_of_an_action_is_a_name_or_has_a_length() -> None:
    """Without one a text of several lines is refused, whatever its action says."""
    names = {"to", "seat", "debater", "model", "threshold", "truth", "weight"}
    unknown = [
        f"{part.__name__}.{name}"
        for action in REGISTRY
        for fact in action.facts
        if issubclass(fact, InterventionFact)
        for part in list_parts(fact)
        for name, field in part.model_fields.items()
        if field.annotation is str and not field.metadata
        if name not in {*InterventionFact.model_fields, *names, *list_text_lengths(part)}
    ]
    assert unknown == []
