"""Windows: how long texts are in tokens, which prompts fit, and which readings were cut."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.debate.commands.setup.documents import add_windows
from server.debate.facts.answers import Usage
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Failed
from server.debate.facts.setup.limits import Window
from server.debate.facts.text import clean
from server.debate.machine.transitions import replay
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call
from server.debate.rules.windows import (
    count_at_most,
    count_fewest_tokens,
    estimate_prompt,
    estimate_tokens,
    find_unread_prompt,
)
from server.debate.state.debate import Debate
from server.debate.views.verdict import build_verdict
from server.debate.views.warnings import failure_lines, list_setup_warnings
from tests.support.simulation import ScriptAnswer, build_setup, default_script, render_finding, simulate

pytestmark = pytest.mark.requirement("N23")

SENTENCE = "The committee met on Tuesday and found that costs had doubled since spring. "
LONG = {"title": "Minutes", "text": SENTENCE * 480}


def windowed(tokens: int = 2050, model: str = "scripted", **fields: Any) -> Debate:
    """A debate, opened with a document of some 9,000 tokens, all of whose seats have this window."""
    setup = build_setup(**{"documents": [LONG], **fields})
    return replay([add_windows(setup, [Window(model=model, tokens=tokens)])])


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("The quick brown fox jumps over the lazy dog. " * 100, 900, 1200),
        ("委员会认为成本自春季以来已经翻了一番。" * 100, 1500, 2000),
        ("위원회는 비용이 봄 이후로 두 배가 되었다고 밝혔다. " * 100, 1500, 2900),
        ("Комитет установил, что расходы удвоились. " * 100, 1000, 2600),
    ],
)
def test_tokens_are_estimated_by_the_script(text: str, least: int, most: int) -> None:
    assert least <= estimate_tokens([text]) <= most


def test_a_debate_whose_first_prompts_do_not_fit_is_refused_with_window_tokens_and_what_to_do() -> None:
    needed = estimate_prompt(Debate(build_setup(documents=[LONG]))) + 600

    with pytest.raises(
        InvalidRequestError, match=f"scripted reads 2,050 tokens, and {needed:,} are needed"
    ) as refusal:
        windowed()

    assert "larger window" in str(refusal.value)
    assert windowed(needed).windows == {"scripted": needed}
    assert windowed(needed).setup.reader is None
    assert windowed(needed - 1).setup.reader is not None  # the document is read in sections


def test_only_the_windows_of_seats_count_and_an_unknown_one_refuses_nothing() -> None:
    assert windowed(model="somebody/else").windows == {"somebody/else": 2050}


def test_a_judge_who_cannot_read_it_is_enough_to_refuse() -> None:
    with pytest.raises(InvalidRequestError, match="vendor/judge reads 2,050 tokens"):
        windowed(model="vendor/judge", options={"judges": {"models": ["scripted", "vendor/judge"]}})


def test_a_talk_that_is_likely_to_outgrow_a_window_is_told_at_the_start() -> None:
    fits, outgrown = windowed(100_000), windowed(10_700)

    assert not any("may not fit" in warning for warning in list_setup_warnings(fits.setup, 2))
    assert any(
        "may not fit: scripted reads 10,700" in warning for warning in list_setup_warnings(outgrown.setup, 2)
    )


def test_a_model_that_cannot_read_the_debate_takes_nobodys_seat() -> None:
    debate = simulate(windowed(100_000).setup)

    with pytest.raises(InvalidRequestError, match="vendor/tiny reads 2,050 tokens"):
        debate.intervene("replace_model", to="judge 1", model="vendor/tiny", window=2050)
    debate.intervene("replace_model", to="judge 1", model="vendor/large", window=50_000)
    assert debate.debate.windows == {"scripted": 100_000, "vendor/large": 50_000}


CODE = 'for (int i = 0; i < n; ++i) { total += values[i] * weights.get("key", 0); }\n'


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (SENTENCE * 480, 5_500),  # a frugal tokenizer
        ("委员会认为成本自春季以来已经翻了一番。" * 500, 5_500),
        ("समिति ने पाया कि वसंत के बाद से लागत दोगुनी हो गई है। " * 300, 4_800),
        ("คณะกรรมการพบว่าต้นทุนเพิ่มขึ้นเป็นสองเท่า " * 300, 3_000),
        (CODE * 300, 5_000),
        ("=" * 40_000, 600),
        ("| " + " " * 300 + "|\n", 600),
        (SENTENCE * 480, 0),  # not reported
        (SENTENCE * 480, 100),  # a figure that no window has
    ],
)
def test_a_prompt_that_was_read_is_not_taken_for_one_that_was_cut(text: str, read: int) -> None:
    assert find_unread_prompt(text, read) == 0


@pytest.mark.parametrize(
    "text",
    [SENTENCE * 480, "委员会认为成本自春季以来已经翻了一番。" * 500, CODE * 1_000],
    ids=["prose", "Chinese", "code"],
)
def test_a_prompt_of_which_a_fifth_was_read_was_cut(text: str) -> None:
    assert find_unread_prompt(text, 2_050) > 2_050 / 0.6


@given(st.text() | st.text("a1 \u3000\t\x1c=委", max_size=200))
def test_a_quick_count_of_tokens_is_never_below_the_fewest(text: str) -> None:
    cleaned = clean(text)
    assert count_at_most(cleaned) >= count_fewest_tokens(cleaned)


def test_a_prompt_that_fills_the_window_to_the_last_token_was_cut() -> None:
    assert find_unread_prompt(SENTENCE * 480, 7_000, 7_000) > 7_000
    assert find_unread_prompt(SENTENCE * 480, 7_000, 7_001) == 0


def read_a_part(*seats: str) -> Any:
    """A script in which these seats were shown only a part of their prompts."""

    def script(call: Call) -> ScriptAnswer:
        answer = default_script(call)
        if call.seat not in seats:
            return answer
        usage = Usage(model="scripted", input_tokens=2050, sent_tokens=7080)
        return Reply(json.dumps(json.loads(render_finding())) if call.reading else str(answer), usage)

    return script


@pytest.mark.requirement("C6")
def test_what_a_judge_found_in_a_part_is_paid_and_not_counted() -> None:
    setup = build_setup(options={"judges": {"models": ["a", "b", "c"]}})

    debate = simulate(setup, read_a_part("judge 2")).play().debate

    failed = [failure for failure in debate.failures if failure.seat == "judge 2"]
    assert {failure.cause for failure in failed} == {"truncated"}
    assert all(failure.usage and failure.usage.input_tokens == 2050 for failure in failed)
    assert [judged.seat for judged in debate.judgments].count("judge 2") == 0
    verdict = build_verdict(debate)
    assert (verdict.panel.asked, verdict.panel.voted, verdict.panel.failed) == (3, 2, 1)
    assert "judge 2 (scripted) was shown only a part: 2,050 of at least 7,080 tokens" in verdict.cautions[0]
    assert "not counted" in verdict.cautions[0]
    assert any("was shown only a part" in line for line in failure_lines(debate))


def test_the_same_model_is_not_asked_again_for_a_reading_that_was_cut_and_a_fallback_is() -> None:
    setup = build_setup(options={"fallback_models": ["vendor/large"]})

    def script(call: Call) -> ScriptAnswer:
        return read_a_part("judge 1")(call) if call.model == "scripted" else default_script(call)

    debate = simulate(setup, script).play().debate

    assert [failure.model for failure in debate.failures] == ["scripted", "scripted"]  # one for each reading
    assert len(debate.judgments) == 2
    assert debate.verdict is not None


def test_a_debater_who_was_shown_a_part_is_named_first_among_the_cautions() -> None:
    debate = simulate(script=read_a_part("Proponent")).play().debate

    assert debate.verdict is not None
    cautions = build_verdict(debate).cautions
    first = next(caution for caution in cautions if "shown only a part" in caution)
    assert first == "Proponent (scripted) was shown only a part: 2,050 of at least 7,080 tokens."
    assert not any(isinstance(event, Failed) for event in debate.failures)


def test_a_ballot_cast_on_a_part_is_no_vote() -> None:
    debate = simulate(build_setup(format="oxford"), read_a_part("judge 1"))
    ballots = debate.play().debate.ballots

    assert ballots
    assert "judge 1" not in {ballot.seat for ballot in ballots}
