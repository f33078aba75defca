"""Whatever was changed in a record or a receipt is found and named, with nothing but the file and a key at hand."""

import base64
import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from server.debate.facts.errors import InvalidRequestError
from server.engine.verification import Keys, verify_file
from tests.support.advisors import play_advice
from tests.support.panels import APART, NOBODY
from tests.support.receipts import (
    DEBATE_ID,
    KEY,
    NOW,
    OTHER_KEY,
    build_signed_export,
    check,
    describe_wrong,
)
from tests.support.records import RECORDS, Bodies, build_bodies, play_named, play_record

pytestmark = pytest.mark.requirement("D11", "N26")

WHOLE = sorted({*RECORDS} - {"breakpoints", "caller", "opinion", "recalled"})
"""The records that have an end."""
GOOD = [("record", "holds"), ("signature", "holds"), ("signer", "holds")]


def seal_file(data: Any) -> Any:
    """Have a file say of itself what its last entry is, as somebody would who cuts it."""
    data["receipt"] |= {"entries": len(data["entries"]), "head": data["entries"][-1]["hash"]}
    return data


@pytest.fixture
def data() -> Any:
    return build_signed_export(play_record())


@pytest.mark.parametrize("name", WHOLE[::8])
def test_a_record_and_its_receipt_hold(name: str) -> None:
    data = build_signed_export(play_named(name))
    assert check(data, copy.deepcopy(data)) == [*GOOD, ("kept", "holds"), ("kept", "holds")]


def test_a_second_opinion_and_its_receipt_hold_with_the_sources_that_it_names() -> None:
    played = play_advice(blind="AB", finals=APART, exchange=[NOBODY, NOBODY])
    data = build_signed_export(build_bodies(played.events))
    assert [one["sources"] for one in data["result"]["answer"]["branches"]] == [["R1"], ["R2"]]
    assert check(data) == GOOD


def test_what_is_not_over_is_not_signed() -> None:
    data = build_signed_export(play_record()[:6])
    assert check(data) == [("record", "holds"), ("signature", "unknown")]


def list_leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    is_leaf = not isinstance(value, dict | list) or not value
    if is_leaf:
        yield path
    for name, part in parts:
        yield from list_leaves(part, (*path, name))


def change_leaf(data: Any, path: tuple[Any, ...], chance: random.Random) -> None:
    *way, last = path
    for name in way:
        data = data[name]
    old = data[last]
    if isinstance(old, str) and old:
        at = chance.randrange(len(old))
        other = chance.choice([letter for letter in "aZ7+ é" if letter != old[at]])
        data[last] = old[:at] + other + old[at + 1 :]
    elif isinstance(old, bool) or old is None or not isinstance(old, int):
        data[last] = {True: False, False: True}.get(old, "x") if isinstance(old, bool) else "x"
    else:
        data[last] = old + 1


@pytest.mark.full
@pytest.mark.parametrize("name", WHOLE[::4])
def test_one_value_changed_anywhere_is_found(name: str) -> None:
    whole, chance = json.dumps(build_signed_export(play_named(name))), random.Random(name)  # noqa: S311
    leaves = list(list_leaves(json.loads(whole)))
    for path in chance.sample(leaves, min(len(leaves), 30)):
        data = json.loads(whole)
        change_leaf(data, path, chance)
        assert describe_wrong(data), path


def test_every_character_of_a_receipt_counts(data: Any) -> None:
    whole = json.dumps(data["receipt"]["envelope"])
    for at, letter in enumerate(whole):
        changed = whole[:at] + ("A" if letter != "A" else "B") + whole[at + 1 :]
        try:
            envelope = json.loads(changed)
        except ValueError:
            continue  # the file cannot be read, which is said
        assert describe_wrong(envelope), at


Change = Callable[[Any], object]


def rebuild_export(change: Callable[[Bodies], object], **options: Any) -> Any:
    bodies = play_record()
    change(bodies)
    return build_signed_export(bodies, **options)


def swap(rows: list[Any], one: int, two: int) -> None:
    rows[one], rows[two] = rows[two], rows[one]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda data: swap(data["entries"], 3, 4), "entry 4 is out of order"),
        (lambda data: data["entries"].pop(3), "cut short or added to"),
        (lambda data: (data["entries"].pop(3), seal_file(data)), "entry 4 is out of order"),
        (lambda data: data["entries"].insert(3, data["entries"][3]), "cut short or added to"),
        (
            lambda data: (data["entries"].insert(3, data["entries"][3]), seal_file(data)),
            "entry 5 is out of order",
        ),
        (lambda data: data["entries"].pop(), "cut short or added to"),
        (lambda data: data["entries"][5]["body"].update(text="Else."), "entry 6 was changed after"),
        (lambda data: data["entries"][5].update(actor="me"), "entry 6 was changed after"),
        (lambda data: data["receipt"].update(envelope=None), "holds no signed receipt"),
        (lambda data: data["receipt"]["envelope"].update(signatures=[]), "cannot be read"),
        (
            lambda data: data["receipt"]["envelope"].update(more=1),
            "not in the form in which receipts are made",
        ),
        (
            lambda data: data["receipt"]["envelope"]["signatures"][0].update(keyid="0" * 64),
            "id of the key is not that",
        ),
        (lambda data: data["result"]["verdict"].update(reasoning="Else."), "result.verdict.reasoning is"),
        (lambda data: data["result"]["transcript"][1].update(text="Else."), "result.transcript[1].text is"),
        (lambda data: data["result"]["transcript"].pop(), "result.transcript[3] is"),
        (lambda data: data.update(note="Trust me."), "note is something else"),
        (lambda data: data["receipt"].update(verified="twice"), "receipt.verified is"),
    ],
)
def test_what_was_changed_is_named(data: Any, change: Change, told: str) -> None:
    change(data)
    assert told in describe_wrong(data)


def test_the_tail_that_was_cut_is_found_by_a_receipt_that_was_kept(data: Any) -> None:
    cut = build_signed_export(play_record()[:-2])
    assert check(cut) == [("record", "holds"), ("signature", "unknown")]
    count = len(data["entries"])
    expected = f"kept is of {count} entries, and the file holds {count - 2}: it was cut short."
    for kept in (data, data["receipt"], data["receipt"]["envelope"]):
        if "head" not in kept or "debate_id" in kept:
            assert expected in describe_wrong(cut, kept)


def test_a_head_that_was_kept_is_compared_without_a_signature(data: Any) -> None:
    kept = {"debate_id": DEBATE_ID, "entries": 3, "head": data["entries"][2]["hash"]}
    assert check(data, kept) == [*GOOD, ("kept", "holds")]


def test_a_receipt_that_was_moved_into_a_record_that_was_cut_is_found(data: Any) -> None:
    cut = build_signed_export(play_record()[:-2])
    cut["receipt"]["envelope"] = data["receipt"]["envelope"]
    assert "this one has not: it was cut short" in describe_wrong(cut)


def other_verdict(bodies: Bodies) -> None:
    for body in bodies:
        if body["kind"] == "spoke":
            body["text"] += " And so on."


def test_a_record_that_was_rewritten_hashed_and_signed_again_is_found(data: Any) -> None:
    rewritten = rebuild_export(other_verdict, key=OTHER_KEY)

    assert "Another key than the one given signed it" in describe_wrong(rewritten)
    assert "the record was rewritten" in describe_wrong(rewritten, data)
    checks = verify_file(rewritten, Keys(), None, NOW)
    assert [found.finding for found in checks] == ["holds", "holds", "unknown"]
    assert "proves nothing about who signed" in checks[-1].text
    assert check(rewritten, keys=Keys(own=OTHER_KEY.public_key)) == GOOD


@pytest.mark.full
def test_whatever_is_changed_hashed_and_signed_again_by_another_key_is_found(data: Any) -> None:
    chance, passed = random.Random(2), 0  # noqa: S311
    original = json.dumps(play_record())
    leaves = list(list_leaves(json.loads(original)))
    for path in chance.sample(leaves, 60):
        bodies = json.loads(original)
        change_leaf(bodies, path, chance)
        try:
            rewritten = build_signed_export(bodies, key=OTHER_KEY)
        except InvalidRequestError:
            continue  # no such record can be, which is said
        passed += 1
        assert describe_wrong(rewritten, data).count("rewritten") == 1, path
        assert "Another key" in describe_wrong(rewritten), path
    assert passed


def test_the_old_receipt_of_a_record_that_was_rewritten_is_found(data: Any) -> None:
    rewritten = rebuild_export(other_verdict)
    rewritten["receipt"]["envelope"] = data["receipt"]["envelope"]
    assert "The receipt is not what the entries come to: subject[0].digest.sha256" in describe_wrong(
        rewritten
    )


def test_a_receipt_that_says_something_else_is_found_though_the_key_is_right(data: Any) -> None:
    statement = json.loads(base64.b64decode(data["receipt"]["envelope"]["payload"]))
    for name, value in (("winner", "Nobody"), ("confidence", {}), ("votes", []), ("rule", {"rules": "x"})):
        told = copy.deepcopy(statement)
        told["predicate"][name] = value
        data["receipt"]["envelope"] = KEY.sign(told)
        assert describe_wrong(data)
    del statement["subject"]
    data["receipt"]["envelope"] = KEY.sign(statement)
    assert "of another debate" in describe_wrong(data)


def test_the_receipt_of_another_debate_is_found(data: Any) -> None:
    other = build_signed_export(play_record(), debate_id="n8d5t2v7w4yz")
    assert f"kept is of another debate ({other['debate_id']})" in describe_wrong(data, other)
    data["receipt"]["envelope"] = other["receipt"]["envelope"]
    assert "The receipt is of another debate: debate:n8d5t2v7w4yz." in describe_wrong(data)


@pytest.mark.parametrize("kept", [{}, {"payload": "x"}, [], 3, "x", {"debate_id": "k", "entries": "x"}])
def test_what_is_no_receipt_is_said_to_be_none(data: Any, kept: Any) -> None:
    assert "The receipt that was kept: " in describe_wrong(data, kept)
    assert describe_wrong(kept)
    data["entries"].pop()
    assert "The receipt that was kept: " in describe_wrong(data, kept)


def test_a_receipt_alone_is_checked_as_far_as_it_goes(data: Any) -> None:
    envelope = data["receipt"]["envelope"]
    assert check(envelope) == [("record", "unknown"), ("signature", "holds"), ("signer", "holds")]
    assert check(envelope, data)[-1] == ("kept", "holds")
    other = build_signed_export(play_record(), debate_id="n8d5t2v7w4yz")
    assert check(envelope, other)[-1] == ("kept", "wrong")
    head = {"debate_id": DEBATE_ID, "entries": 3, "head": "00"}
    assert check(head) == [("record", "unknown"), ("signature", "unknown")]
    view = {"debate_id": DEBATE_ID, "envelope": envelope, "statement": {"_type": "else"}}
    assert ("file", "wrong") in check(view)


def test_a_broken_file_is_compared_with_a_receipt_too(data: Any) -> None:
    kept = copy.deepcopy(data)
    data["entries"].pop()
    assert check(data, kept) == [("record", "wrong"), ("kept", "unknown")]
