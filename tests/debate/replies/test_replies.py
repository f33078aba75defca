import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.debate.facts.events import Failed, Judged, Spoke, load
from server.debate.facts.setup.seats import Debater
from server.debate.facts.text import clean
from server.debate.machine.transitions import apply
from server.debate.replies.extract import MAX_TURN_LENGTH, Reply
from server.debate.replies.interpret import interpret
from server.debate.rules.calls import Call
from server.debate.state.debate import Debate
from tests.support.simulation import (
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

    def test_thoughts_that_a_turn_quotes_are_a_part_of_it(self) -> None:
        said = "It answers <think>so</think> in the end."
        assert says(said).text == said
        assert (
            says("<think>so</think> In the end.").text == says("so</think>In the end.").text == "In the end."
        )

    def test_line_ends_are_made_one_kind(self) -> None:
        assert says("a\r\nb\rc\nd\te").text == "a\nb\nc\nd\te"

    def test_control_characters_go_and_strange_line_breaks_become_plain_ones(self) -> None:
        assert says("a\x00b\x1b[31mc\x85d\u2028e\u2029f\x0bg\x0ch").text == "abc\nd\ne\nf\ng\nh"

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
            f"[{render_finding()}]",
            f"With \\frac{{1}}{{2}} and {{x}} in mind: {render_finding()}",
        ],
    )
    def test_it_is_found_wherever_it_stands(self, reply: str) -> None:
        found = finds(reply)
        assert (found.winner, found.margin) == ("Ada", 2)
        assert (found.verdict, found.reasoning) == ("It is not worth it.", "Costs were never answered.")

    @pytest.mark.parametrize(
        ("reply", "why"),
        [
            ("正方が勝ちました。", "the reply is prose"),
            (render_finding()[:-9], "the JSON of the reply is broken off or malformed"),
            (f"{render_finding('B')}\n{render_finding()[:-9]}", "the last JSON of the reply is broken off"),
            ("{" * 20, "the reply is prose"),
            ("42", "the reply is prose"),
            ("NaN", "the reply is prose"),
            ('{"x": "y"}', 'the JSON of the reply has no "winner"'),
            ('{"verdict": "x", "reasoning": "y", "margin": 1}', 'the JSON of the reply has no "winner"'),
            ('{"beliefs": {"A": "high"}}', '"winner" is missing'),
            (
                render_finding(winner="\ud800"),
                '"winner" names no position: it must be one of A, B, C, D, or null',
            ),
            (render_finding(winner=["A", "B"]), '"winner" names more than one position'),
            (
                render_finding(winner="A", beliefs={"A": 10, "B": 90}),
                "the winner is A, and the beliefs are highest",
            ),
            ("9" * 5000, "the reply is prose"),
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

    def test_a_megabyte_of_reasoning_is_cut(self) -> None:
        found = finds(render_finding(reasoning="word " * (MEGABYTE // 5), verdict="x" * MEGABYTE))
        assert len(found.reasoning) == len(found.verdict) == 4_000


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
            ("nobody", ""),
            ("A (Ada)", "Ada"),
            ("B. no", "Bob"),
        ],
    )
    def test_it_is_known_by_letter_stance_and_name_in_any_case(self, winner: str | None, name: str) -> None:
        assert finds(render_finding(winner)).winner == name

    @pytest.mark.parametrize(
        ("winner", "problem"),
        [
            ("E", "names no position"),
            ("Proponent", "names no position"),
            ("0", "names no position"),
            ("Position", "names no position"),
            ("judge 1", "names no position"),
            ("A and B", "names more than one position"),
            ("A or B", "names more than one position"),
            ("not A", "says more than a position"),
        ],
    )
    def test_a_stranger_is_refused(self, winner: str, problem: str) -> None:
        assert useless(render_finding(winner)) == f'"winner" {problem}: it must be one of A, B, C, D, or null'

    def test_a_stance_that_two_defend_names_neither(self) -> None:
        assert useless(render_finding("NO!")).startswith('"winner" names more than one position')
        assert finds(render_finding("D")).winner == "Dan"

    def test_a_letter_is_a_letter_even_where_somebody_is_called_so(self) -> None:
        cast = (Debater(name="B", stance="c", model="m"), Debater(name="C", stance="a", model="m"))
        assert finds(render_finding("A"), *cast).winner == "B"
        assert finds(render_finding("B"), *cast).winner == "C"
        assert finds(render_finding("c"), *cast, Debater(name="x", stance="y", model="m")).winner == "x"

    def test_without_a_winner_there_is_no_margin(self) -> None:
        assert finds(render_finding(None, 3)).margin == 0

    @pytest.mark.parametrize(
        ("margin", "kept"),
        [
            *((0, 0), (3, 3), (4, 3), (-1, 0), (99, 3), ("2", 2), (2.0, 2), (1.5, 1), (True, 1), (None, 1)),
            *(("high", 1), ("margin: 2", 2), (float("inf"), 1)),
        ],
    )
    def test_a_margin_out_of_range_is_brought_into_it(self, margin: Any, kept: int) -> None:
        assert finds(render_finding(margin=margin)).margin == kept

    def test_a_margin_that_is_not_given_is_a_narrow_one(self) -> None:
        assert finds('{"winner": "A", "verdict": "x", "reasoning": "y"}').margin == 1

    @pytest.mark.parametrize(
        ("own", "next_best", "margin"),
        [(50, 31, 0), (50, 30, 1), (60, 11, 1), (70, 20, 2), (89, 10, 2), (90, 10, 3)],
    )
    def test_a_margin_follows_from_the_beliefs_where_there_are_any(
        self, own: int, next_best: int, margin: int
    ) -> None:
        beliefs = {"A": own, "B": next_best, "none": 100 - own - next_best}
        assert finds(render_finding(margin=3, beliefs=beliefs)).margin == margin

    def test_beliefs_are_percentages_that_sum_to_a_hundred(self) -> None:
        thirds = finds(render_finding(winner=None, beliefs={"A": 1, "B": 1, "C": 1})).beliefs
        assert [(b.name, b.percent) for b in thirds] == [
            ("Ada", 34),
            ("Bob", 33),
            ("Cleo", 33),
            ("Dan", 0),
            ("", 0),
        ]

    @pytest.mark.parametrize("beliefs", ["A", [1], {"A": -1}, {"A": "much"}, {"A": 0}, {"E": 100}])
    def test_beliefs_that_are_no_numbers_are_left_out(self, beliefs: Any) -> None:
        assert finds(render_finding(beliefs=beliefs)).beliefs == ()

    def test_most_belief_wins_where_no_winner_is_named_and_it_leads_clearly(self) -> None:
        assert finds('{"beliefs": {"A": 60, "B": 40}}').winner == "Ada"
        assert finds('{"beliefs": {"A": 59, "B": 41}}').winner == ""

    def test_a_common_position_needs_that_there_is_no_winner(self) -> None:
        assert finds(render_finding(None, common_position="Both.")).common_position == "Both."
        assert finds(render_finding("A", common_position="Both.")).common_position == ""

    def test_criteria_are_kept_where_they_name_a_position_or_none(self) -> None:
        criteria = {"support": "A", "response": "even", "relevance": "E", "consequences": 3, "style": "B"}
        found = finds(render_finding(criteria=criteria)).criteria
        assert [(c.name, c.better) for c in found] == [("support", "Ada"), ("response", "")]

    def test_the_words_of_a_judge_are_cleaned_too(self) -> None:
        assert finds(render_finding(verdict=" So\x00\r\nit \ud800 is ")).verdict == "So\nit ? is"

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
def test_whatever_comes_back_is_a_fact_that_can_be_recorded(text: str, cut: bool) -> None:
    for debate, call in (TURN, JUDGMENT):
        event = interpret(debate, call, Reply(text, build_usage(), cut=cut))
        assert apply(debate, event).version == debate.version + 1
        body = json.dumps(event.model_dump(mode="json"), ensure_ascii=False).encode()
        assert load(json.loads(body)) == event


@given(ANYTHING)
def test_what_was_cleaned_is_clean(text: str) -> None:
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    assert cleaned.splitlines() == (cleaned.split("\n") if cleaned else [])
    cleaned.encode()
