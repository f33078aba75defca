"""The opponent: every field of every entry is changed, and the chain made anew. What passes tells nobody a lie.

An edited record is refused, or it is one that could have happened: only contributions were changed, and what readers
are told follows from them.
"""

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest

from server.debate.facts.errors import InvalidRequestError
from server.debate.machine.decide import Record, decide
from server.debate.rules.calls import Call
from server.debate.rules.verdict import build_verdict_events
from server.debate.state.debate import Debate
from tests.support.event_strategies import BAD_ANSWERS, SETUPS
from tests.support.records import KEPT, RECORDS, Bodies, build_bodies, play_named, verify_bodies
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    ScriptAnswer,
    default_script,
    label_positions,
    render_finding,
    simulate,
)

pytestmark = pytest.mark.requirement("N26")

FEW = 6  # mutations of each record, drawn: too few to say which outcome is more frequent

COMPUTED = frozenset(
    {"phase_entered", "block_ended", "default_plan_used", "handed_off"}
    | {"handoff_failed", "agreed", "concluded", "ended", "predicate_lost"}
)
"""What nobody contributes: no field of these can be changed alone."""

Path = tuple[str | int, ...]


def find_paths(value: Any, path: Path = ()) -> Iterator[Path]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (*path, key)
        yield from find_paths(part, (*path, key))


def find_other_values(value: Any, names: list[str]) -> list[Any]:
    match value:
        case bool():
            return [not value]
        case int():
            return [value + 1, value - 1, -5, 10**9, 2**53, float("nan")]
        case str():
            return [f"{value}x", "", "line\nbreak", "\x1b[31mred", *names]
        case list():
            return [value[:-1], value[::-1], value + value[:1]]
        case None:
            return ["x", 1]
        case _:
            return []


def alter(bodies: Bodies, index: int, path: Path, value: Any) -> Bodies:
    changed = copy.deepcopy(bodies[index])
    target: Any = changed
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return [*bodies[:index], changed, *bodies[index + 1 :]]


def mutate(bodies: Bodies, draw: random.Random, most: int) -> Iterator[tuple[str, Path, Bodies]]:
    """(kind of the entry, field, the record with another value there)."""
    names = [debater["name"] for debater in bodies[0]["debaters"]]
    places = [(index, path) for index, body in enumerate(bodies) for path in find_paths(body)]
    for index, path in draw.sample(places, min(len(places), most)):
        value: Any = bodies[index]
        for key in path:
            value = value[key]
        other = draw.choice(find_other_values(value, names) or [value])
        if other != value:
            yield bodies[index]["kind"], path, alter(bodies, index, path, other)


def tells_only_what_follows(debate: Debate) -> bool:
    """Whether the verdict and the end of a debate are those that its own contributions make."""
    if debate.verdict and debate.verdict != build_verdict_events(debate)[-1]:
        return False
    return bool(debate.ended) or not isinstance(decide(debate), Record) or not debate.verdict


@pytest.mark.parametrize("most", [FEW, pytest.param(20, marks=pytest.mark.full)])
@pytest.mark.parametrize("name", RECORDS)
def test_an_edited_record_is_refused_or_could_have_happened(name: str, most: int) -> None:
    refusals, possible = list[str](), 0
    bodies = play_named(name)
    is_fork = bool(bodies[0]["forked_from"])
    for kind, path, changed in mutate(bodies, random.Random(name), most):  # noqa: S311  (the same every time)
        debate, refusal = try_to_verify(changed)
        if debate is None:
            refusals.append(refusal)
            continue
        possible += 1
        assert kind not in COMPUTED or is_fork, (kind, path)
        assert tells_only_what_follows(debate)

    assert all(refusal.startswith("Entry ") for refusal in refusals)
    assert len(refusals) > (0 if most == FEW else possible)


def try_to_verify(bodies: Bodies) -> tuple[Debate | None, str]:
    try:
        return verify_bodies(bodies), ""
    except InvalidRequestError as error:
        return None, str(error)


@pytest.mark.full
@pytest.mark.parametrize("name", KEPT)
def test_an_entry_that_is_left_out_or_repeated_is_missed(name: str) -> None:
    bodies = play_named(name)
    last = {body["kind"]: index for index, body in enumerate(bodies[:-1])}
    for index in (last[kind] for kind in last.keys() & {*COMPUTED, "spoke", "judged"}):
        for changed in (bodies[:index] + bodies[index + 1 :], bodies[: index + 1] + bodies[index:]):
            with pytest.raises(InvalidRequestError, match=r"^Entry \d+ \("):
                verify_bodies(changed)


# What did happen passes --------------------------------------------------------------------------


def answer_anyhow(draw: random.Random, call: Call) -> ScriptAnswer:
    """Replies of every kind, good ones mostly."""
    kind, share = draw.random(), draw.randint(0, 100)
    if kind < 0.1:
        return draw.choice(BAD_ANSWERS)
    if kind < 0.15:
        return ProviderFailure(draw.choice(["timeout", "unavailable"]))
    if call.task == "judgment" and kind < 0.5:
        return render_finding(draw.choice(["A", "B", None]), beliefs={"A": share, "B": 100 - share})
    return default_script(call)


def steer(at: DebateSimulation, draw: random.Random) -> None:
    """Somebody intervenes, if that is possible now."""
    names = at.debate.names
    wishes: dict[str, dict[str, Any]] = {
        "inject": {"text": "Mind the cost.", "to": draw.choice(["", *names])},
        "instruct": {"text": "Be brief.", "to": draw.choice(["", "judge 1"])},
        "retract": {"to": names[0], "round": max(at.debate.round, 1)},
        "replace_model": {"to": names[-1], "model": "other"},
        "extend": {"rounds": 1, "limits": {"max_calls": draw.randint(10, 60)}},
        "pause": {"reason": "lunch"},
        "conclude": {},
    }
    action = draw.choice(list(wishes))
    try:
        at.intervene(action, **wishes[action])
    except InvalidRequestError:
        return


@pytest.mark.parametrize(
    "seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.full) for seed in range(8, 20))]
)
def test_what_did_happen_passes_with_its_failures_interventions_and_forks(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311  (the same every time)
    opened = label_positions(SETUPS[draw.choice(list(SETUPS))])
    if calls := draw.choice([0, 12, 25]):
        limits = opened.limits.model_copy(update={"max_calls": calls, "on_budget": "pause"})
        opened = opened.model_copy(update={"limits": limits, "fallback_models": ("spare",)})

    def arrive(calls: Any) -> list[Call]:
        return draw.sample(calls, len(calls))

    at = simulate(opened, lambda call: answer_anyhow(draw, call), arrival_order=arrive)
    for _ in range(80):
        if draw.random() < 0.2:
            steer(at, draw)
        elif not at.step():
            if not at.debate.paused:
                break
            at.intervene("resume")
    assert verify_bodies(build_bodies(at.events)) == at.debate
    try:
        child = at.fork(draw.randint(0, max(at.debate.round - 1, 0)), seed=draw.choice([0, 99]))
    except InvalidRequestError:
        return
    origin = dict.fromkeys(("forked_from", "forked_root"), "k3x9w2m4p7qr")
    child.events[0] = child.events[0].model_copy(update=origin)
    child = DebateSimulation(verify_bodies(build_bodies(child.events)), events=child.events).play_on()
    assert verify_bodies(build_bodies(child.events)) == child.debate
