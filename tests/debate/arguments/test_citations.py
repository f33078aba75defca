"""What points do to others: the ids that they cite, and ids of nothing."""

from typing import Any

import pytest

from server.debate.arguments.citations import Citations, find_citations, find_references
from server.debate.arguments.graph import build_graph
from server.debate.arguments.points import format_id
from server.debate.facts.answers import Lookup, Researched
from server.debate.facts.beliefs import Citation
from server.debate.rules.calls import Call
from server.debate.state.debate import Debate
from tests.support.simulation import (
    DebateSimulation,
    build_debaters,
    build_setup,
    build_usage,
    default_script,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("D25")

SEATS = {"Ada": "Ada", "Bob": "Bob", "W45": "Ada", "K73": "Bob"}

REFERENCES = {
    "alone": ("No: [W45 1.2].", ["Ada 1.2 cites"]),
    "with a word": ("[supports W45 1.2]", ["Ada 1.2 supports"]),
    "words in other forms": ("[Attacking: W45 1.2] [conceded k73 2.1]", ["Ada 1.2 attacks", "Bob 2.1 concedes"]),
    "several of one": ("[attacks W45 1.2, 1.3 and 2.1]", [f"Ada {one} attacks" for one in ("1.2", "1.3", "2.1")]),
    "several of several": ("[W45 1.2; repeats K73 1.1]", ["Ada 1.2 cites", "Bob 1.1 repeats"]),
    "by name": ("[supports Ada 1.2]", ["Ada 1.2 supports"]),
    "who changed its mind": ("[changed by W45 1.2]", ["Ada 1.2 concedes"]),
    "other brackets": ("\u3010W45 1.2\u3011", ["Ada 1.2 cites"]),
    "without brackets": ("As W45 1.2 says, no.", ["Ada 1.2 cites"]),
    "behind assent": ("I concede [W45 1.2], agree with [K73 1.1].", ["Ada 1.2 cites", "Bob 1.1 cites"]),
    "a percentage": ("W45 1.2% more, [W45 1.2%]", []),
    "a version": ("W45 1.2.3", []),
    "numbers alone": ("[1.2] and [2]", []),
}  # fmt: skip


@pytest.mark.parametrize(("text", "found"), REFERENCES.values(), ids=REFERENCES)
def test_ids_are_found_with_what_is_said_of_them(text: str, found: list[str]) -> None:
    references, unknown = find_references(text, SEATS)
    assert [f"{format_id(one.target, one.target.seat)} {one.relation}" for one in references] == found
    assert not unknown


@pytest.mark.parametrize(
    ("text", "count"),
    [("[Juniper 1.2]", 0), ("[attacks Juniper 1.2]", 1), ("[T88 1.2]", 1), ("[Python 3.11]", 0)],
)
def test_ids_of_nobody_are_counted(text: str, count: int) -> None:
    assert find_references(text, SEATS) == ([], count)


def argue(*turns: str, **fields: Any) -> DebateSimulation:
    """A debate of three rounds, or so, whose debaters write these in the order of rounds and seats."""

    def script(call: Call) -> str:
        if call.task != "argument":
            return str(default_script(call))
        seats = at.debate.names
        index = (call.round - 1) * len(seats) + seats.index(call.seat)
        return turns[index] if index < len(turns) else "Nothing."

    at = simulate(build_setup(**fields), script)
    return at.play()


def cited(debate: Debate, seat: str, number: int, point: int = 1) -> Citations:
    return find_citations(debate)[Citation(seat=seat, round=number, point=point)]


def links(debate: Debate, seat: str, number: int, point: int = 1) -> list[str]:
    return [
        f"{one.relation} {format_id(one.target, one.target.seat)}"
        for one in cited(debate, seat, number, point).links
    ]


def test_an_id_alone_is_a_reference_whoever_it_is_of() -> None:
    debate = argue("[1] a", "[1] b", "[1] No: [B1 1.1]. [2] As [A1 1.1] says.").debate
    assert links(debate, "Proponent", 2) == ["cites Opponent 1.1"]
    assert links(debate, "Proponent", 2, 2) == ["cites Proponent 1.1"]


def test_a_version_is_no_reference_and_a_name_before_an_id_is_one() -> None:
    debate = argue("[1] a", "[1] b", "[1] It needs Python 1.1.", "[1] As Proponent 1.1 says.").debate
    assert links(debate, "Proponent", 2) == []
    assert links(debate, "Opponent", 2) == ["cites Proponent 1.1"]


def test_what_does_not_exist_is_dropped_and_counted() -> None:
    debate = argue("a", "b", "[1] [B1 1.9] [B1 9.1] [attacks Nobody 1.1] [B1 1.1] [B1 1.1]").debate
    assert links(debate, "Proponent", 2) == ["cites Opponent 1.1"]
    assert cited(debate, "Proponent", 2).unknown == 3


def test_a_point_that_attacks_itself_does_not() -> None:
    debate = argue("[1] a [attacks A1 1.1] [2] b [attacks A1 1.1]").debate
    assert (links(debate, "Proponent", 1), cited(debate, "Proponent", 1).unknown) == ([], 1)


def test_a_point_may_cite_another_of_its_own_turn() -> None:
    debate = argue("[1] a [attacks A1 1.2]\n[2] b [attacks A1 1.1]").debate
    assert links(debate, "Proponent", 1) == ["attacks Proponent 1.2"]
    assert links(debate, "Proponent", 1, 2) == ["attacks Proponent 1.1"]


def test_what_was_written_at_the_same_time_does_not_exist_for_it() -> None:
    debate = argue("[1] a", "[1] b [A1 1.1]", "[1] c [B1 2.1]").debate
    assert cited(debate, "Opponent", 1) == Citations(unknown=1)
    assert cited(debate, "Proponent", 2) == Citations(unknown=1)


def test_where_debaters_speak_one_after_the_other_the_later_one_cites_the_earlier() -> None:
    debate = argue("[1] a [B1 1.1]", "[1] b [A1 1.1]", format="verdict").debate
    assert cited(debate, "Proponent", 1).unknown == 1
    assert links(debate, "Opponent", 1) == ["cites Proponent 1.1"]


def test_an_answer_cites_its_message_and_others_do_not() -> None:
    debaters = build_debaters(3)
    ring = {"Speaker 1": "B", "Speaker 2": "C", "Speaker 3": "A"}

    def script(call: Call) -> str:
        if call.task == "message":
            return f'{{"to": "{ring[call.seat]}", "kind": "question", "text": "Why? [A1 1.1]"}}'
        if call.task == "answer":
            return "No. [A1 1.1] [B1 1.1]"
        return "[A1 1.1] [B1 1.1]" if call.task == "argument" else str(default_script(call))

    setup = build_setup(debaters=debaters, options={"phases": ["cross_examination", "synthesis"]})
    debate = simulate(setup, script).play().debate
    assert links(debate, "Speaker 2", 1, 2) == ["cites Speaker 1 1.1"]
    assert cited(debate, "Speaker 2", 1, 2).unknown == 1
    assert cited(debate, "Speaker 3", 1).unknown == 1
    assert links(debate, "Speaker 3", 2) == ["cites Speaker 2 1.1"]


def test_what_was_looked_up_is_a_source_that_sides_may_share() -> None:
    at = simulate(build_setup(), task_script({"argument": "So it is (doc 1), and so (doc 2)."}))
    first, other = at.play_to_round(1).pending_calls()[:2]
    found = Lookup(tool="web/search", arguments="{}", result="It was closed for nine days in May.")
    at.add_events(
        at.answer(other),
        Researched(
            seat=first.seat, round=1, slot_index=0, seen=first.seen, lookups=(found,), usage=build_usage()
        ),
    )
    at.play()
    assert cited(at.debate, first.seat, 1).documents == (1,)
    assert cited(at.debate, other.seat, 1).documents == ()  # it wrote before anybody had looked it up
    assert build_graph(at.debate).find_shared_documents() == {1: [first.seat, other.seat]}  # in round 2


def test_documents_are_found_by_number() -> None:
    documents = [{"title": "Costs", "text": "It costs."}, {"title": "Gains", "text": "It pays."}]
    debate = argue("[1] “It pays” (doc 2). [2] (document 1, 2) (doc 3) (docs 0)", documents=documents).debate
    assert cited(debate, "Proponent", 1).documents == (2,)
    assert cited(debate, "Proponent", 1, 2).documents == (1, 2)
