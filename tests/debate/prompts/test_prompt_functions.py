"""Functions in code that write prompts: what they return is a fact, and they end with their process."""

from collections.abc import Mapping
from typing import Any

import pytest

from server.debate.commands.setup.open import add_prompt_functions
from server.debate.facts.answers import PromptsComputed
from server.debate.facts.errors import IllegalEvent, InvalidRequestError
from server.debate.facts.events import Event
from server.debate.facts.setup.seats import MAX_PROMPT_LENGTH
from server.debate.machine.render import render
from server.debate.machine.transitions import replay
from server.debate.prompts.wording import CANDOUR, POINTS
from server.debate.rules.caller_code import PromptFunction
from server.debate.state.debate import Debate
from server.debate.views.verdict import build_verdict
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    build_debaters,
    build_setup,
    render_prompt_text,
    simulate,
)

pytestmark = pytest.mark.requirement("C14", "C19")

LOST = "The functions in code that write prompts were lost with their process: from round"
THREE = {"moderator": {"opens": True, "closes": True, "prompt": "Be strict."}, "synthesizer": True}


def count_turns(debate: Debate, seat: str) -> str:
    return f"{seat} in round {debate.round}, after {len(debate.turns)} turns."


def hold(functions: Mapping[str, PromptFunction], **asked: Any) -> DebateSimulation:
    setup = add_prompt_functions(build_setup(**asked), functions)
    return simulate(setup, prompt_functions=functions)


def told(at: DebateSimulation, seat: str, sign: str = " turns.") -> list[str]:
    """The line of each of a seat's prompts that a function wrote."""
    prompts = [prompt.partition("# Question")[2] for prompt in at.prompts(seat)]
    lines = [next((line for line in prompt.splitlines() if sign in line), "") for prompt in prompts]
    return [line.removeprefix("> ") for line in lines]


def written(events: list[Event]) -> list[tuple[int, set[str]]]:
    """(round, seats) of each fact with new texts."""
    return [(e.round, {p.seat for p in e.prompts}) for e in events if isinstance(e, PromptsComputed)]


def test_instructions_by_a_function_reach_the_seats_without_a_prompt_and_follow_the_debate() -> None:
    at = hold({"": count_turns}, format="verdict", options=THREE).play()

    assert told(at, "Opponent") == [
        "Opponent in round 1, after 0 turns.",
        "Opponent in round 2, after 2 turns.",
    ]
    assert told(at, "judge 1") == ["judge 1 in round 3, after 4 turns."] * 2
    assert told(at, "synthesizer") == ["synthesizer in round 4, after 4 turns."]
    assert set(told(at, "moderator")) == {""}
    assert {seat for _, seats in written(at.events) for seat in seats} == {
        *("Proponent", "Opponent", "judge 1", "synthesizer")
    }


def test_a_seats_own_function_stands_in_place_of_instructions_and_may_replace_its_task() -> None:
    own = {"name": "Ada", "stance": "yes", "replaces_task": True}
    others = [own, {"name": "Bob", "stance": "no"}]
    at = hold({"Ada": count_turns}, debaters=others, options={"instructions": "Be kind."}).play()

    first, _ = at.prompts("Ada")
    assert first.endswith(
        "\n\n# Your task\nTo be followed:\n> Ada in round 1, after 0 turns.\nYou are A1. Your position: yes\n"
        f"{POINTS}"
    )
    assert "Be kind." not in first
    assert CANDOUR not in first
    assert "Be kind.\nYou are B1. Your position: no" in at.prompts("Bob")[0]


def test_only_what_changed_is_recorded_and_replay_needs_no_function() -> None:
    functions: dict[str, PromptFunction] = {
        "": lambda _debate, seat: f"  Think first, {seat}.\n",
        "Opponent": lambda debate, _seat: "Be brief." if debate.round == 2 else "",
    }
    at = hold(functions, format="verdict", max_rounds=3).play()

    assert written(at.events) == [(1, {"Proponent", "judge 1"}), (2, {"Opponent"}), (3, {"Opponent"})]
    assert told(at, "Proponent", "Think") == ["Think first, Proponent."] * 3
    assert told(at, "Opponent", "Be brief") == ["", "Be brief.", ""]
    calls = [call for call, _ in at.calls_made if call.seat == "Proponent"]
    again = replay(at.events[: at.calls_made[0][0].seen])
    assert render_prompt_text(render(again, calls[0])) == at.prompts("Proponent")[0]


def test_a_process_without_the_functions_records_that_and_goes_on_with_what_they_wrote() -> None:
    at = hold({"": count_turns}, format="verdict", max_rounds=3).play_through_round(1)
    at.prompt_functions = {}
    at.play()

    assert [event.kind for event in at.events].count("prompt_functions_lost") == 1
    assert told(at, "Opponent") == ["Opponent in round 1, after 0 turns."] * 3
    assert told(at, "judge 1") == ["judge 1 in round 1, after 0 turns."] * 2
    cautions = [caution for caution in build_verdict(at.debate).cautions if caution.startswith(LOST)]
    assert cautions == [f"{LOST} 2 on seats were told what these had written before."]
    assert replay(at.events) == at.debate


def test_a_round_that_begins_is_recorded_with_its_prompts_so_that_none_is_ever_shown_without() -> None:
    at = hold({"": count_turns}, format="verdict").play_to_round(2)
    assert [event.kind for event in at.events][-2:] == ["phase_entered", "prompts_computed"]


def test_a_pause_asks_the_functions_nothing_and_too_few_answers_are_no_new_round() -> None:
    asked: list[int] = []

    def note(debate: Debate, _seat: str) -> str:
        asked.append(debate.round)
        return ""

    at = hold({"Opponent": note})
    at.script = lambda _: ProviderFailure("unavailable", "down")
    at.play()
    assert (at.status, asked, written(at.events)) == ("paused", [1], [])


def test_a_fork_inherits_what_was_written_and_says_where_it_has_no_functions() -> None:
    at = hold({"": count_turns}, format="verdict", max_rounds=3).play()
    child = at.fork(1).play()
    assert told(child, "Opponent") == ["Opponent in round 1, after 0 turns."] * 2
    assert any(caution.startswith(f"{LOST} 2") for caution in build_verdict(child.debate).cautions)

    both = {"": count_turns, "Proponent": count_turns}
    at = hold(both, format="verdict", max_rounds=3).play()
    with_text = at.fork(1, instructions="Be kind.").play()
    assert told(with_text, "Opponent", "kind") == ["Be kind."] * 2
    assert told(with_text, "Proponent") == ["Proponent in round 1, after 0 turns."] * 2


@pytest.mark.parametrize(
    ("functions", "asked", "why"),
    [
        (["Zoe"], {}, "nobody is called 'Zoe'"),
        (["framer"], {}, "nobody is called 'framer'"),
        (["Proponent"], {"options": {"framing": True}}, "Name `debaters` to give them prompts"),
        ([""], {"options": {"instructions": "Be kind."}}, "there are instructions in the request"),
        (
            ["judge 1"],
            {"options": {"judges": {"prompt": "Who pays?"}}},
            "judge 1 has a prompt in the request",
        ),
        (
            ["Ada"],
            {"debaters": [{"name": "Ada", "stance": "yes", "system_prompt": "So."}, *build_debaters(1)]},
            "Ada has a prompt in the request",
        ),
    ],
)
def test_functions_for_nobody_or_beside_a_fixed_text_are_refused(
    functions: list[str], asked: dict[str, Any], why: str
) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        add_prompt_functions(build_setup(**asked), functions)
    assert why in str(refused.value)


def test_too_long_a_prompt_is_an_error_that_names_the_seat_and_changes_nothing() -> None:
    at = hold({"Opponent": lambda _debate, _seat: "x" * (MAX_PROMPT_LENGTH + 1)})
    with pytest.raises(InvalidRequestError, match="The prompt of Opponent has 8,001 characters"):
        at.play()
    assert at.debate.round == 0


def test_a_record_cannot_hold_prompts_of_functions_that_there_are_not() -> None:
    with pytest.raises(IllegalEvent):
        simulate().play_to_round(1).add_events(PromptsComputed(round=1, prompts=()))
