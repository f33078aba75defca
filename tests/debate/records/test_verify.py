"""Records from elsewhere: what could have been said, and what follows from it; else the first wrong entry, named."""

from typing import Any

import pytest

from server.debate.machine.transitions import replay
from server.debate.replies.extract import build_failure
from server.debate.votes.voters import find_voters
from tests.support.event_strategies import SETUPS
from tests.support.records import (
    KEPT,
    Bodies,
    Change,
    build_bodies,
    play,
    play_named,
    record,
    refusal,
    verify_bodies,
)
from tests.support.simulation import (
    DebateSimulation,
    acceptable_calls,
    build_setup,
    label_positions,
    simulate,
)

pytestmark = pytest.mark.requirement("D8", "N26")

JUDGED = -4
"""Where the last judgment stands, before the consensus, the verdict and the end."""


@pytest.mark.parametrize("name", SETUPS)
def test_every_kind_of_debate_comes_back_as_it_was(name: str) -> None:
    played = simulate(label_positions(SETUPS[name])).play()

    assert verify_bodies(build_bodies(played.events)) == played.debate


@pytest.mark.full
def test_the_golden_journals_follow() -> None:
    for bodies in map(play_named, KEPT):
        assert verify_bodies(bodies).version == len(bodies)


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "kind"), [("oxford", "balloted"), ("settle", "round_closed"), ("verdict", "judged")]
)
def test_an_answer_that_decides_is_not_of_another_debate(name: str, kind: str) -> None:
    bodies = play_named(name)
    deciding = next(body for body in bodies if body["kind"] == kind)
    assert "what decides is not reused" in refusal(
        lambda _: deciding["usage"].update(reused_from="k3x9w2m4p7qr#17"), bodies
    )


REUSED = {"attempts": 0, "cost_usd": "0", "input_tokens": 0, "output_tokens": 0, "cached_tokens": 0}


@pytest.mark.parametrize(
    ("cache", "change", "told"),
    [
        ("off", {}, "it uses no answers of other debates"),
        ("reuse", {"attempts": 1}, "nobody was asked, and it cost something"),
        ("reuse", {"cached_tokens": 1}, "nobody was asked, and it cost something"),
        ("reuse", {"output_tokens": 1, "attempts": 1}, "nobody was asked, and it cost something"),
        ("reuse", {"cost_usd": "0.1", "attempts": 1}, "nobody was asked, and it cost something"),
    ],
)
def test_an_answer_of_another_debate_is_asked_for_and_free(
    cache: str, change: dict[str, Any], told: str
) -> None:
    bodies = record(format="verdict", max_rounds=1, options={"cache": "reuse"})
    usage = next(body["usage"] for body in bodies if body["kind"] == "spoke")
    usage.update(REUSED, reused_from="k3x9w2m4p7qr#17", reused_tokens=9)
    assert verify_bodies(bodies).turns[0].usage.reused_tokens == 9

    bodies[0]["cache"] = cache
    assert told in refusal(lambda _: usage.update(change), bodies)


@pytest.mark.full
@pytest.mark.parametrize(
    ("cache", "turns", "told"),
    [
        ("off", 1, "it uses no answers of other debates"),
        ("reuse", 20_001, "spent.reused_turns: no debate has so many"),
    ],
)
def test_a_mirror_reuses_turns_as_its_debate_does(cache: str, turns: int, told: str) -> None:
    bodies = play_named("mirrored")
    held = next(body for body in bodies if body["kind"] == "mirror_held")
    bodies[0]["cache"] = "reuse"
    held["spent"]["reused_turns"] = 2
    assert verify_bodies(bodies).mirror

    bodies[0]["cache"] = cache
    assert told in refusal(lambda _: held["spent"].update(reused_turns=turns), bodies)


@pytest.mark.full
@pytest.mark.parametrize("named", ["q7q7q7q7q7q7", "k3x9w2m4p7qr"])
def test_a_debate_leaves_out_only_what_it_recalls_and_only_once(named: str) -> None:
    bodies = play_named("recalled")
    withdrawn = bodies[1]
    told = refusal(lambda found: found.insert(2, {**withdrawn, "debate_id": named}), bodies)

    assert withdrawn["debate_id"] == "k3x9w2m4p7qr"
    assert "it recalls no such debate, or left it out before" in told


@pytest.mark.full
@pytest.mark.parametrize("name", ["verdict", "handoff", "full", "votes", "oxford", "moderated"])
def test_forks_at_every_round_follow(name: str) -> None:
    parent = simulate(label_positions(SETUPS[name])).play_through_round(1)
    parent.intervene("instruct", text="Be brief.")
    if voters := find_voters(parent.debate.setup)[:1]:
        parent.intervene("weights", weights=dict.fromkeys(voters, "3/2"))
    parent.play()
    for at_round in range(parent.debate.round):
        child = parent.fork(at_round)
        origin = dict.fromkeys(("forked_from", "forked_root"), "k3x9w2m4p7qr")
        child.events[0] = child.events[0].model_copy(update=origin)
        child.debate = replay(child.events)
        assert verify_bodies(build_bodies(child.play().events)) == child.debate


def test_a_fork_without_its_parents_code_takes_over_the_block_that_this_code_ended() -> None:
    block = {"name": "argumentation", "repeat_from": "opening", "limit": 5}
    opened = label_positions(build_setup(options={"phases": ["opening", block, "voting", "verdict"]}))
    opened = opened.model_copy(update={"has_predicate": True})
    parent = simulate(opened, terminate_when=lambda debate: debate.round >= 2).play()
    child = parent.fork(3)
    origin = {"forked_from": "k3x9w2m4p7qr", "forked_root": "n8d5t2v7w4yz", "has_predicate": False}
    child.events[0] = child.events[0].model_copy(update=origin)
    child.debate = replay(child.events)

    assert [ended.cause for ended in child.debate.ended_blocks] == ["terminate_when"]
    assert verify_bodies(build_bodies(child.play().events)) == child.debate


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda found: found.clear(), "Entry 1 does not open a debate"),
        (lambda found: found.pop(0), "Entry 1 does not open a debate"),
        (lambda found: found.pop(1), "Entry 2 (spoke) cannot follow those before it"),
        (lambda found: found.insert(3, found[0]), "Entry 4 (opened) cannot follow those before it"),
        (lambda found: found[2].update(seen=9), "its prompt shows what has not happened yet"),
        (lambda found: found[2].update(seen=1), "nobody asked Proponent for it at version 1"),
        (lambda found: found[2].update(seen=0), "seen Input should be greater than or equal to 1"),
        (lambda found: found[2].update(slot_index=1), "no slot 1 of Proponent is open for it"),
        (lambda found: found[2].update(kind="danced"), "Entry 3 (danced) is of a kind that is unknown here."),
        (lambda found: found[2].update(mood="glad"), "Entry 3 (spoke) cannot be read: mood Extra inputs are"),
        (lambda found: found[2].update(round="1"), "its values are not as they are written"),
        (
            lambda found: found[2].update(text="a\x1b[2J"),
            "Entry 3 (spoke): text: it holds control characters",
        ),
        (lambda found: found[2].update(text=""), "nothing was said"),
        (lambda found: found[2].update(hands_to="Opponent"), "nobody hands over here"),
        (lambda found: found[1]["order"].reverse(), "order: computed again"),
        (lambda found: found[1].update(because="settled"), "because: computed again, it is something else"),
        (lambda found: found[-1].update(cause="budget"), "cause: computed again, it is something else"),
        (lambda found: found[-2].update(winner="Opponent"), "winner: computed again, it is something else"),
        (lambda found: found[-2]["votes"][0].update(margin=3), "votes: computed again"),
        (lambda found: found.pop(JUDGED), "answers come before it"),
        (lambda found: found.pop(-3), "agreed follows here"),
        (lambda found: found[-3].update(winner="Opponent"), "winner: computed again, it is something else"),
        (lambda found: found.pop(-2), "concluded follows here"),
        (lambda found: found.append(found[-1]), "nothing follows here unasked"),
        (lambda found: found[0].update(forked_from="k3x9w2m4p7qr"), "it is forked from what is no debate"),
        (lambda found: found[0].update(forked_at_round=9), "it is forked from nothing"),
        (lambda found: found[0].update(forked_import="k3x9w2m4p7qr"), "it is forked from nothing"),
        (
            lambda found: found[0].update(forked_from="k3x9w2m4p7qr", forked_hash="0" * 64),
            "it is forked from what is no debate",
        ),
        (
            lambda found: found[0].update(
                dict.fromkeys(("forked_from", "forked_root"), "k3x9w2m4p7qr"),
                forked_hash="0" * 64,
                forked_import="../../etc",
            ),
            "it is forked from what is no debate",
        ),
    ],
)
def test_what_does_not_follow_is_refused_at_its_entry(change: Change, told: str) -> None:
    assert told in refusal(change, record())


def test_a_fork_has_the_rounds_that_it_says_it_took_over() -> None:
    origin = {"forked_at_round": 9, "forked_hash": "0" * 64}
    origin |= dict.fromkeys(("forked_from", "forked_root"), "k3x9w2m4p7qr")

    assert "rounds that are not there" in refusal(lambda found: found[0].update(origin), record()[:2])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"attempts": 0}, "usage.attempts: from 1 to 10,000"),
        ({"input_tokens": -1}, "input_tokens Input should be greater than or equal to 0"),
        ({"output_tokens": float("nan")}, "output_tokens Input should be a finite number"),
        ({"cost_usd": "-1"}, "cost_usd String should match"),
        ({"cost_usd": "1000001"}, "usage.cost_usd: at most 1,000,000"),
        ({"sent_tokens": 5}, "usage.sent_tokens: there were more than were read"),
        ({"sent_tokens": 5000}, "it was read in part"),
        ({"reused_from": "k3x9w2m4p7qr#17"}, "usage.reused_from: what decides is not reused"),
        ({"reused_tokens": 5}, "usage.reused_tokens: it was not reused"),
        ({"model": "caller"}, "no seat of the caller's"),
        ({"model": "a\nb"}, "its values are not as they are written"),
    ],
)
def test_figures_that_are_none_are_refused(change: dict[str, Any], told: str) -> None:
    assert told in refusal(lambda found: found[JUDGED]["usage"].update(change), record())


BELIEFS = [
    {"name": "Proponent", "percent": 90},
    {"name": "Opponent", "percent": 10},
    {"name": "", "percent": 0},
]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"beliefs": BELIEFS, "margin": 2}, "which make it 3"),
        ({"beliefs": BELIEFS[:2]}, "one for each position and none, together 100"),
        ({"beliefs": [*BELIEFS[:2], {"name": "", "percent": 9}]}, "together 100"),
        ({"beliefs": BELIEFS, "winner": "Opponent"}, "its beliefs are highest for another"),
        ({"winner": "", "margin": 2}, "its margin does not follow"),
        ({"criteria": [{"name": "support", "better": ""}] * 2}, "its criteria are not those asked for"),
        ({"winner": "Mallory"}, "nobody here is called Mallory"),
    ],
)
def test_judgments_that_no_judge_makes_are_refused(change: dict[str, Any], told: str) -> None:
    assert told in refusal(lambda found: found[JUDGED].update(change), record())


def test_what_the_embedded_model_found_is_counted_nowhere() -> None:
    bodies = record(options={"judges": {"models": ["local"]}})

    assert "the embedded model decides nothing" in refusal(lambda _: None, bodies)


def test_a_failure_is_of_the_model_that_was_asked_and_of_a_limit_that_there_is() -> None:
    at = play().play_to_round(1)
    failed = build_failure(at.pending_calls()[0], "late", "too late")
    at.add_events(failed)
    assert "no limit of time that it missed" in refusal(lambda _: None, build_bodies(at.events))
    timeout = build_bodies([*at.events[:-1], failed.model_copy(update={"cause": "timeout"})])
    assert verify_bodies(timeout).failures
    assert "was asked, and not other" in refusal(lambda found: found[-1].update(model="other"), timeout)


def test_a_caller_writes_its_own_seats_and_no_others() -> None:
    at = play(models=["caller", "scripted"], format="verdict").play_to_round(1)
    bodies = build_bodies(at.events)
    turn = build_bodies([DebateSimulation(at.debate).answer(call) for call in at.pending_calls()])
    assert not turn  # the caller's turn is awaited, and nobody is asked
    spoken = {
        "kind": "spoke", "seat": "Proponent", "round": 1, "slot_index": 0, "seen": 2, "text": "Ship.",
        "usage": {"model": "caller", "cost_usd": "0"},
    }  # fmt: skip
    assert verify_bodies([*bodies, spoken]).turns
    paid = {**spoken, "usage": {"model": "caller", "cost_usd": "0", "attempts": 9}}
    assert "is no model's, and costs nothing" in refusal(lambda _: None, [*bodies, paid])
    failed = {"kind": "failed", "seat": "Proponent", "round": 1, "seen": 2, "cause": "empty", "detail": "x"}
    assert "caller was asked, and not nobody" in refusal(lambda _: None, [*bodies, failed])


def test_look_ups_are_of_a_seat_that_has_tools_and_end() -> None:
    options = {"judges": {"tools": ["wiki"]}}
    at = play(options=options, max_rounds=2).play_to_round(3)
    lookup = {"tool": "wiki/search", "arguments": "{}", "result": "x"}
    found = {"kind": "researched", "seat": "judge 1", "round": 3, "slot_index": 1, "lookups": [lookup]}
    bodies = [*build_bodies(at.events), {**found, "seen": at.debate.version}]
    assert verify_bodies(bodies).research
    again = [*bodies, *({**found, "seen": at.debate.version + number} for number in (1, 2, 3))]
    assert "looks up 3 times for an answer" in refusal(lambda _: None, again)
    assert "lookups: from 1 to 20" in refusal(lambda made: made[-1].update(lookups=[]), bodies)
    bodies[-1]["lookups"] = [lookup]
    bodies[0]["judges"]["tools"] = []
    assert "judge 1 has no tools for this" in refusal(lambda _: None, bodies)


def test_a_result_without_a_schema_is_any_text() -> None:
    played = simulate(label_positions(build_setup(format="round_robin"))).play()
    assert verify_bodies(build_bodies(played.events)) == played.debate


@pytest.mark.parametrize("text", ["", '{"result": 1}', '{"result":1}', '{"result"', "[" * 9999])
def test_a_result_satisfies_the_schema_and_is_written_as_it_is_recorded(text: str) -> None:
    bodies = build_bodies(simulate(label_positions(SETUPS["round robin"])).play().events)

    assert "Entry 9 (synthesized) cannot follow" in refusal(lambda found: found[-2].update(text=text), bodies)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"labels": ["Walnut", "Zircon", "Yarrow"]}, "its labels are not those drawn"),
        ({"assumption": "a\nb"}, "these are no positions that exclude each other"),
        ({"stance": "Write it"}, "these are no positions that exclude each other"),
        ({"stance": ""}, "these are no positions that exclude each other"),
    ],
)
def test_positions_that_were_never_proposed_are_refused(change: dict[str, Any], told: str) -> None:
    def alter(found: Bodies) -> None:
        target = found[2]["debaters"][1] if "stance" in change else found[2]
        target.update(change)

    bodies = build_bodies(simulate(label_positions(SETUPS["framed"])).play_to_round(1).events)
    assert told in refusal(alter, bodies)


def test_an_answer_before_the_positions_says_something() -> None:
    bodies = build_bodies(simulate(label_positions(SETUPS["framed"])).play_to_round(1).events)
    assert "there is no text" in refusal(lambda found: found[1].update(text=""), bodies)


def test_a_closing_an_audit_and_a_plan_say_something() -> None:
    bodies = build_bodies(simulate(label_positions(SETUPS["moderated"])).play().events)
    kinds = [body["kind"] for body in bodies]
    for kind, change, told in (
        ("round_closed", {"summary": ""}, "no summary"),
        ("audited", {"text": ""}, "no text"),
        ("round_opened", {"next_speakers": ["Proponent"] * 5}, "next_speakers: at most 4"),
    ):
        found = [*bodies]
        found[kinds.index(kind)] = {**found[kinds.index(kind)], **change}
        assert told in refusal(lambda _: None, found)


def test_nobody_is_asked_while_a_debate_is_paused() -> None:
    at = play().play_to_round(1)
    at.intervene("pause")
    turn = build_bodies([at.answer(call) for call in acceptable_calls(at.debate)[:1]])

    for seen, told in ((2, ""), (3, "nobody asked Proponent for it at version 3")):
        bodies = [*build_bodies(at.events), {**turn[0], "seen": seen}]
        if told:
            assert told in refusal(lambda _: None, bodies)
        else:
            assert verify_bodies(bodies).turns
