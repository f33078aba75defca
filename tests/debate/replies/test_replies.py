import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.debate.facts.config import Debater
from server.debate.facts.events import Failed, Judged, Spoke, load
from server.debate.facts.state import Debate
from server.debate.facts.text import clean
from server.debate.replies.extract import MAX_TURN_LENGTH, Reply
from server.debate.replies.interpret import MAX_FIELD_LENGTH, interpret
from server.debate.rules.decide import Call
from server.debate.rules.transitions import apply
from tests.support.simulation import (
    FUZZ_SETTINGS,
    build_setup,
    build_usage,
    render_finding,
    replace_debaters,
    simulate,
)

pytestmark = pytest.mark.requirement("C8")

CAST = (
    Debater(name="Ada", stance="Yes, we should.", model="m"),
    Debater(name="Bob", stance="no", model="m"),
    Debater(name="Cleo", stance="Only  later", model="m"),
    Debater(name="Dan", stance="NO", model="m"),
)
MEGABYTE = 1_000_000


def asked_debater() -> tuple[Debate, Call]:
    at = simulate().play_to_round(1)
    return at.debate, at.pending_calls()[0]


def asked_judge(*cast: Debater) -> tuple[Debate, Call]:
    at = simulate(replace_debaters(build_setup(), *(cast or CAST))).play_to_round(3)
    return at.debate, at.pending_calls()[0]


TURN = asked_debater()
JUDGMENT = asked_judge()


def says(text: str, *, cut: bool = False) -> Spoke:
    event = interpret(*TURN, Reply(text, build_usage(), cut=cut))
    assert isinstance(event, Spoke)
    return event


def finds(text: str, *cast: Debater) -> Judged:
    event = interpret(*asked_judge(*cast), Reply(text, build_usage()))
    assert isinstance(event, Judged), event
    return event


def useless(text: str, *, cut: bool = False) -> str:
    """Why a judgment could not be read."""
    event = interpret(*JUDGMENT, Reply(text, build_usage(), cut=cut))
    assert isinstance(event, Failed), event
    assert event.cause == "unreadable"
    assert event.usage == build_usage()
    return event.detail


class TestTurns:
    def test_a_turn_is_what_was_said(self) -> None:
        debate, _ = TURN
        assert says("Because.") == Spoke(
            seen=debate.version, seat="Proponent", round=1, text="Because.", usage=build_usage()
        )

    @pytest.mark.parametrize("nothing", ["", " \n\t ", "\x00\x1b", "\ufeff", "\r\n"])
    @pytest.mark.requirement("D3")
    def test_nothing_said_is_a_failure_that_was_paid_for(self, nothing: str) -> None:
        debate, call = TURN
        assert interpret(debate, call, Reply(nothing, build_usage())) == Failed(
            seen=debate.version,
            seat="Proponent",
            round=1,
            cause="empty",
            detail="the model said nothing",
            usage=build_usage(),
            model="scripted",
        )

    @pytest.mark.parametrize(
        "said", ["Bo tak: żółć.", "なぜなら、そうだから。", "لأن الأمر كذلك", "🧪 e\u0301", "{not json}"]
    )
    def test_any_language_is_kept_as_it_is(self, said: str) -> None:
        assert says(said).text == said

    def test_line_ends_are_made_one_kind(self) -> None:
        assert says("a\r\nb\rc\nd\te").text == "a\nb\nc\nd\te"

    def test_control_characters_and_strange_separators_become_spaces(self) -> None:
        assert says("a\x00b\x1b[31mc\x85d\u2028e\u2029f\x0bg\x0ch").text == "a b [31mc d e f g h"

    def test_half_a_pair_of_surrogates_becomes_a_question_mark(self) -> None:
        assert says("so \ud83d it is").text == "so ? it is"
        assert says("so \U0001f9ea it is").text == "so \U0001f9ea it is"

    def test_a_turn_stopped_at_its_token_limit_is_said_to_be_cut(self) -> None:
        assert says("Because of", cut=True).cut
        assert not says("Because.").cut

    def test_a_turn_of_the_longest_length_is_kept_whole(self) -> None:
        said = "x" * MAX_TURN_LENGTH
        assert (says(said).text, says(said).cut) == (said, False)

    @pytest.mark.parametrize("end", [". ", ".\n", "! ", "? ", "。"])
    def test_a_turn_that_is_too_long_ends_with_a_whole_sentence(self, end: str) -> None:
        turn = says(("word " * 20 + "end" + end) * 500)
        assert turn.cut
        assert turn.text.endswith("end" + end[0])
        assert MAX_TURN_LENGTH - 120 < len(turn.text) <= MAX_TURN_LENGTH

    @pytest.mark.parametrize("said", ["x" * MEGABYTE, "So. " + "x" * MEGABYTE])
    def test_a_megabyte_without_sentences_is_cut_anyhow(self, said: str) -> None:
        turn = says(said)
        assert turn.cut
        assert len(turn.text) == MAX_TURN_LENGTH


class TestFindingTheJson:
    @pytest.mark.parametrize(
        "reply",
        [
            render_finding(),
            f"```json\n{render_finding()}\n```",
            f"```\n{render_finding()}```",
            f"Here you go:\n```json\n\n\n  {render_finding()}  \n```\nGood luck!",
            f"I find:\n\n{render_finding()}\n\nThat is all.",
            f"\ufeff{render_finding()}",
            f"```json\n{render_finding()}",
            f"```\nsome notes\n```\n{render_finding()}",
            f"[1] as asked: {render_finding()}",
            json.dumps(json.loads(render_finding()), indent=4),
            render_finding(confidence="high", tags=[{}]),
        ],
    )
    def test_it_is_found_wherever_it_stands(self, reply: str) -> None:
        found = finds(reply)
        assert (found.winner, found.margin) == ("Ada", 2)
        assert (found.verdict, found.reasoning) == ("It is not worth it.", "Costs were never answered.")

    @pytest.mark.parametrize(
        ("reply", "why"),
        [
            ("A wins, clearly.", "the reply holds no JSON object"),
            ("正方が勝ちました。", "the reply holds no JSON object"),
            (render_finding()[:-9], "the JSON of the reply is broken off or malformed"),
            ("{'winner': 'A'}", "the JSON of the reply is broken off or malformed"),
            ("{" * 20, "the JSON of the reply is broken off or malformed"),
            ("null", "the answer: "),
            ("42", "the answer: "),
            ("NaN", "the answer: "),
            (f"[{render_finding()}]", "the answer: "),
            ("{}", "verdict: Field required"),
            ('{"verdict": "x", "reasoning": "y", "margin": 1}', "winner: Field required"),
            (render_finding(verdict=""), "verdict: Value error, must not be empty"),
            (render_finding(reasoning=" \x00 "), "reasoning: Value error, must not be empty"),
            (render_finding(verdict=7), "verdict: Input should be a valid string"),
            (render_finding(winner="\ud800"), '"winner" must be one of A, B, C, D or null'),
            (render_finding(winner=["A"]), "winner: "),
            (render_finding(margin="clear"), "margin: "),
            (render_finding(margin=1.5), "margin: "),
            (render_finding(margin=None), "margin: "),
            (render_finding(margin=float("inf")), "margin: "),
            ("9" * 5000, "the reply holds no JSON object"),
            ('{"margin": ' + "9" * 5000 + "}", "the JSON of the reply is broken off or malformed"),
        ],
    )
    @pytest.mark.requirement("D3")
    def test_what_cannot_be_read_is_a_failure_that_says_why(self, reply: str, why: str) -> None:
        assert useless(reply).startswith(why)

    def test_a_reply_that_was_cut_off_says_so(self) -> None:
        assert useless(render_finding()[:40], cut=True) == (
            "the JSON of the reply is broken off or malformed (it was stopped at its token limit)"
        )

    @pytest.mark.parametrize(
        "reply",
        [
            "[" * MEGABYTE,
            '{"a":' * (MEGABYTE // 5),
            "```json" + " " * MEGABYTE + "x",
            "```" * (MEGABYTE // 3),
            "\n" * MEGABYTE + "x",
            "{" * MEGABYTE,
            '"' * MEGABYTE,
        ],
        ids=["lists", "objects", "a fence and blanks", "fences", "blanks", "braces", "quotes"],
    )
    def test_a_megabyte_of_rubbish_is_a_failure_and_takes_no_time(self, reply: str) -> None:
        assert useless(reply)

    def test_a_megabyte_of_reasoning_is_cut(self) -> None:
        found = finds(render_finding(reasoning="word " * (MEGABYTE // 5), verdict="x" * MEGABYTE))
        assert len(found.reasoning) == len(found.verdict) == MAX_FIELD_LENGTH


class TestTheWinner:
    @pytest.mark.parametrize(
        ("winner", "name"),
        [
            ("A", "Ada"),
            ("a", "Ada"),
            (" b. ", "Bob"),
            ('"C"', "Cleo"),
            ("Position A", "Ada"),
            ("Yes, we should.", "Ada"),
            ("yes, WE should", "Ada"),
            ("only later", "Cleo"),
            ("Only  later", "Cleo"),
            ("ada", "Ada"),
            ("CLEO", "Cleo"),
            (None, ""),
            ("", ""),
            ("null", ""),
            ("None", ""),
            (" NULL. ", ""),
        ],
    )
    def test_it_is_known_by_letter_stance_and_name_in_any_case(self, winner: str | None, name: str) -> None:
        assert finds(render_finding(winner)).winner == name

    @pytest.mark.parametrize(
        "winner", ["E", "nobody", "A and B", "A or B", "Proponent", "0", "Position", "judge 1"]
    )
    def test_a_stranger_is_refused(self, winner: str) -> None:
        assert useless(render_finding(winner)) == '"winner" must be one of A, B, C, D or null'

    def test_a_stance_that_two_defend_names_neither(self) -> None:
        assert useless(render_finding("no")) == '"winner" must be one of A, B, C, D or null'
        assert finds(render_finding("D")).winner == "Dan"

    def test_a_letter_is_a_letter_even_where_somebody_is_called_so(self) -> None:
        cast = (Debater(name="B", stance="c", model="m"), Debater(name="C", stance="a", model="m"))
        assert finds(render_finding("A"), *cast).winner == "B"
        assert finds(render_finding("B"), *cast).winner == "C"
        assert finds(render_finding("c"), *cast, Debater(name="x", stance="y", model="m")).winner == "x"

    def test_without_a_winner_there_is_no_margin(self) -> None:
        assert finds(render_finding(None, 3)).margin == 0

    @pytest.mark.parametrize(
        ("margin", "kept"), [(0, 0), (3, 3), (4, 3), (-1, 0), (99, 3), ("2", 2), (2.0, 2), (True, 1)]
    )
    def test_a_margin_out_of_range_is_brought_into_it(self, margin: Any, kept: int) -> None:
        assert finds(render_finding(margin=margin)).margin == kept

    def test_a_margin_that_is_not_given_is_a_narrow_one(self) -> None:
        assert finds('{"winner": "A", "verdict": "x", "reasoning": "y"}').margin == 1

    def test_the_words_of_a_judge_are_cleaned_too(self) -> None:
        assert finds(render_finding(verdict=" So\x00\r\nit \ud800 is ")).verdict == "So \nit ? is"

    def test_a_judgment_knows_its_seat_its_reading_and_its_price(self) -> None:
        debate, call = JUDGMENT
        event = interpret(
            debate, call, Reply(render_finding("B"), build_usage("vendor/x"), informative=False)
        )
        assert event == Judged(
            seen=debate.version,
            seat="judge 1",
            round=3,
            slot_index=1,
            winner="Bob",
            margin=2,
            verdict="It is not worth it.",
            reasoning="Costs were never answered.",
            usage=build_usage("vendor/x"),
            informative=False,
        )


ANYTHING = st.text(st.characters(codec=None))
JSONISH = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANYTHING,
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["winner", "margin", "verdict", "x"]), inner)
    ),
)
REPLIES = (
    ANYTHING
    | JSONISH.map(json.dumps)
    | st.tuples(ANYTHING, JSONISH.map(json.dumps), ANYTHING).map("".join)
    | st.fixed_dictionaries(
        {"winner": JSONISH, "margin": JSONISH, "verdict": ANYTHING, "reasoning": ANYTHING}
    ).map(json.dumps)
    | st.tuples(st.just("```"), ANYTHING, st.sampled_from(["{", "```", render_finding()])).map("".join)
)


@given(REPLIES, st.booleans())
@FUZZ_SETTINGS
def test_whatever_comes_back_is_a_fact_that_can_be_recorded(text: str, cut: bool) -> None:
    for debate, call in (TURN, JUDGMENT):
        event = interpret(debate, call, Reply(text, build_usage(), cut=cut))
        assert apply(debate, event).version == debate.version + 1
        body = json.dumps(event.model_dump(mode="json"), ensure_ascii=False).encode()
        assert load(json.loads(body)) == event


@given(ANYTHING)
@FUZZ_SETTINGS
def test_what_was_cleaned_is_clean(text: str) -> None:
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    assert cleaned.splitlines() == (cleaned.split("\n") if cleaned else [])
    cleaned.encode()


@pytest.mark.requirement("C8")
def test_braces_in_prose_before_the_answer_do_not_hide_it() -> None:
    assert (
        finds("With \\frac{1}{2} and {x} in mind: " + render_finding()).winner
        == finds(render_finding()).winner
    )
