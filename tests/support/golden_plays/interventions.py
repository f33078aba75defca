"""Debates that people step into: every intervention, breakpoints, and a fork."""

from server.debate.analysis.debates import build_standing
from server.debate.analysis.records import JudgeRecord
from server.debate.commands.fork import fork
from server.debate.commands.requests import ChangesInput
from server.debate.commands.setup.open import add_prices, open_debate
from server.debate.facts.events import Event, Paused, Resumed
from server.debate.facts.setup.ledger import LedgerExtract
from server.debate.facts.setup.opened import Opened
from server.debate.interventions.action import InterventionRequest
from server.debate.interventions.registry import build_intervention
from server.debate.machine.transitions import replay
from server.debate.replies.extract import build_failure
from tests.support.golden_plays.setups import PARENT_ID, build_setup, find_price
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    build_request,
    default_script,
    render_finding,
    simulate,
    task_script,
)


def open_limited_debate() -> Opened:
    """With limits of every kind, and a judge that the ledger knows."""
    options = {
        "judges": {"models": ["vendor/j", "vendor/k"], "quorum": 2},
        "fallback_models": ["vendor/spare"],
        "quorum": 1,
        "limits": {"max_calls": 90, "max_cost_usd": 2.5, "max_seconds": 900, "round_timeout": 60},
        "seed": 7,
    }
    opened = open_debate(
        build_request(format="verdict", max_rounds=2, options=options),
        models=["vendor/a", "vendor/b"],
        seed=7,
        find_price=find_price,
    )
    known = build_standing(JudgeRecord("vendor/j", 30, 29, 27, 2))
    ledger = LedgerExtract(standings=(known,), calibrated_items=30, scale="0.8", intercept="-0.1")
    return opened.model_copy(update={"ledger": ledger})


def play_interventions() -> list[Event]:
    """A debate with limits of every kind and every intervention."""
    price = find_price("vendor/new")
    at = simulate(
        open_limited_debate(), lambda call: render_finding("A") if call.reading else "Because."
    ).play_to_round(1)
    at.add_events(
        build_failure(
            at.pending_calls()[0], "late", "vendor/a had not answered when the 60 s of the round were over"
        )
    )
    at.play_through_round(1)
    at.add_events(
        Paused(
            cause="daily_budget",
            reason="the day's budget: 9 of 9 calls made today. It goes on tomorrow (UTC).",
            until="2026-12-02T00:00:00.000Z",
        ),
        Resumed(),
    )
    for action, request in (
        ("challenge", InterventionRequest(text="Żółć: who pays?", to="Opponent")),
        (
            "extend",
            InterventionRequest(
                rounds=1, limits={"max_calls": 120, "on_budget": "pause"}, reason="close to the end"
            ),
        ),
        ("instruct", InterventionRequest(text="Answer in one sentence.", to="Proponent")),
        ("weights", InterventionRequest(weights={"judge 1": "3/2"})),
        ("threshold", InterventionRequest(threshold="2/3")),
        ("replace_model", InterventionRequest(to="judge 2", model="vendor/new", price=price)),
        ("retract", InterventionRequest(to="Opponent", round=1)),
    ):
        at.add_events(*build_intervention(at.debate, action, request).events)
    return at.play().events


def play_breakpoints() -> list[Event]:
    """A debate that stops at a failure, at a share of its budget and before its verdict, and goes on each time."""
    options = {
        "pause_when": ["failure", "budget:0.4", "verdict"],
        "limits": {"max_calls": 10},
        "judges": {"models": ["vendor/j"]},
    }

    lost = [ProviderFailure("timeout")]
    script = task_script({"argument": lambda call: lost.pop() if lost else default_script(call)})
    at = simulate(build_setup(format="verdict", max_rounds=2, options=options), script)
    while at.play().debate.paused:
        at.add_events(Resumed(reason="read"))
    return at.events


def play_fork() -> list[Event]:
    """A fork of the debate with interventions, with other judges and a changed stance."""
    at = DebateSimulation(replay(play_interventions()), events=play_interventions())
    other = {"judges": {"models": ["vendor/z"]}, "stances": {"Opponent": "日本語で待つ"}}
    opened, past = fork(PARENT_ID, at.debate, at.log, 1, ChangesInput.model_validate(other))
    events: list[Event] = [add_prices(opened, find_price), *past]
    forked = DebateSimulation(
        replay(events), lambda call: render_finding("B") if call.reading else "So.", events=events
    )
    return forked.play().events
