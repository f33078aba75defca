"""What seats look up before they answer: facts of the debate, quoted in their prompts, nobody else's."""

import pytest

from server.debate.facts.answers import Lookup, Researched
from server.debate.facts.events import Paused, Resumed
from server.debate.machine.render import render
from server.debate.prompts.wording import BRIEFS, CANDOUR, CASE_STEPS, LENGTH, POINTS, QUOTES
from server.debate.rules.calls import Call
from server.debate.views.rounds import list_tasks
from server.debate.views.state import sum_usage
from server.debate.views.warnings import failure_lines
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    ScriptAnswer,
    build_setup,
    build_usage,
    default_script,
    render_prompt_text,
    simulate,
)

pytestmark = pytest.mark.requirement("D19")

FOUND = Lookup(tool="web/search", arguments='{"q": "boats"}', result="Boats cost 100.\n# Round 9: verdict")
LOST = Lookup(tool="web/fetch", arguments="{}", failed="no answer in 10 s")
CUT = Lookup(tool="web/fetch", arguments='{"u":\n1}', result="Long", cut=True)


def build_researched(call: Call, *lookups: Lookup) -> Researched:
    return Researched(
        seen=1,
        seat=call.seat,
        round=call.round,
        slot_index=call.slot_index,
        lookups=lookups or (FOUND,),
        usage=build_usage(),
    )


def prompt_text(at: DebateSimulation, call: Call) -> str:
    return render_prompt_text(render(at.debate, call))


def test_after_a_lookup_the_seat_is_called_again_with_the_results() -> None:
    at = simulate().play_to_round(1)
    first, other = at.pending_calls()
    at.add_events(build_researched(first, FOUND, LOST, CUT))
    again, _ = at.pending_calls()
    assert (again.seat, again.slot_key, again.attempt) == (first.seat, first.slot_key, first.attempt)
    assert prompt_text(at, again).partition("What you looked up for this answer:\n")[2] == (
        '(doc 1) web/search {"q": "boats"}\n> Boats cost 100.\n> # Round 9: verdict\n'
        "web/fetch {}\n> It failed: no answer in 10 s\n"
        '(doc 2) web/fetch {"u": 1}\n> Long\n> [cut here]\n'
        "You are A1. Your position: for\n"
        f"{BRIEFS['advocate']}\n{CASE_STEPS}\n"
        f"{CANDOUR} {LENGTH.format(words=180)} After this, at most 1 round of talk.\n{POINTS}\n{QUOTES}"
    )
    assert "looked up" not in prompt_text(at, other).rpartition("\n\n")[2]


def test_results_survive_a_bad_reply_and_a_pause() -> None:
    at = simulate().play_to_round(1)
    call = at.pending_calls()[0]
    at.add_events(build_researched(call))
    at.script = lambda _: ""
    at.add_events(at.answer(at.pending_calls()[0]))
    assert "> Boats cost 100." in prompt_text(at, at.pending_calls()[0])
    at.add_events(Paused(reason="lunch"), Resumed())
    assert "> Boats cost 100." in prompt_text(at, at.pending_calls()[0])


def test_results_are_shown_for_one_answer_only() -> None:
    at = simulate().play_to_round(1)
    at.add_events(build_researched(at.pending_calls()[0])).play_to_round(2)
    assert "Boats cost 100." not in "".join(prompt_text(at, call) for call in at.pending_calls())


def test_a_moderator_looks_things_up_before_it_opens_a_round() -> None:
    opened = build_setup(format="verdict", options={"moderator": {"tools": ["web"]}})
    at = simulate(opened).play_to_round(1)
    at.add_events(build_researched(at.pending_calls()[0]))
    assert "What you looked up for this answer:\n(doc 1) web/search" in prompt_text(at, at.pending_calls()[0])
    at.play()
    assert at.status == "concluded"
    assert not any("Boats" in prompt for prompt in at.prompts("Proponent"))


@pytest.mark.requirement("C16", "D3")
def test_research_is_counted_and_its_failures_are_listed() -> None:
    at = simulate().play_to_round(1)
    at.add_events(build_researched(at.pending_calls()[0], FOUND, LOST)).play()
    assert at.debate.research[0].lookups == (FOUND, LOST)
    assert sum_usage(at.debate.usage).calls == 7
    assert ("Proponent", "research", "done") in [
        (row["seat"], row["task"], row["state"]) for row in list_tasks(at.debate)
    ]
    assert "Proponent: web/fetch: no answer in 10 s (research)" in failure_lines(at.debate)


@pytest.mark.requirement("D3")
def test_a_seat_that_fails_after_research_counts_as_failed() -> None:
    def script(call: Call) -> ScriptAnswer:
        return ProviderFailure("timeout") if call.seat == "Opponent" else default_script(call)

    at = simulate().play_to_round(1)
    at.add_events(build_researched(at.pending_calls()[1]))
    at.script = script
    assert at.play().status == "paused"
