import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.debate.facts.events import Failed, Judged, Spoke
from server.debate.facts.setup.seats import Debater
from server.debate.facts.text import clean
from server.debate.machine.interpret import interpret
from server.debate.machine.kinds import load
from server.debate.machine.transitions import apply
from server.debate.replies.extract import MAX_TURN_LENGTH, Reply
from server.debate.rules.calls import Call
from server.debate.state.debate import Debate
from tests.support.simulation import build_setup, build_usage, render_finding, replace_debaters, simulate

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

    def test_thoughts_that_a_turn_quotes_are_a_part_of_it(self) -> None:
        said = "It answers <think>so</think> in the end."
        assert says(said).text == said
        assert (
            says("<think>so</think> In the end.").text == says("so</think>In the end.").text == "In the end."
        )

    @pytest.mark.parametrize(
        ("said", "text"),
        [
            ("a\r\nb\rc\nd\te", "a\nb\nc\nd\te"),
            ("a\x00b\x1b[31mc\x85d\u2028e\u2029f\x0bg\x0ch", "abc\nd\ne\nf\ng\nh"),
            ("so \ud83d it is", "so ? it is"),
            ("so \U0001f9ea it is", "so \U0001f9ea it is"),
        ],
        ids=["line ends", "control characters", "half a pair of surrogates", "a whole pair"],
    )
    def test_strange_signs_become_plain_ones(self, said: str, text: str) -> None:
        assert says(said).text == text

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
            f"\ufeff{render_finding()}",
            f"```\nsome notes\n```\n{render_finding()}",
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
            ('{"x": "y"}', 'the JSON of the reply has no "winner"'),
            ('{"beliefs": {"A1": "high"}}', '"winner" is missing'),
            (
                render_finding(winner="\ud800"),
                '"winner" names no position: it must be one of A1, B1, C1, D1, or null',
            ),
            (
                render_finding(winner="A1", beliefs={"A1": 10, "B1": 90}),
                "the winner is A1, and the beliefs are highest",
            ),
            ('{"margin": ' + "9" * 5000 + "}", "the JSON of the reply is broken off or malformed"),
        ],
    )
    @pytest.mark.requirement("D3")
    def test_what_cannot_be_read_is_a_failure_that_says_why(self, reply: str, why: str) -> None:
        assert useless(reply).startswith(why)


class TestTheWinner:
    @pytest.mark.parametrize(
        ("winner", "name"),
        [
            ("A1", "Ada"),
            (" b1. ", "Bob"),
            ('"C1"', "Cleo"),
            ("Position A1", "Ada"),
            ("Yes, we should.", "Ada"),
            ("yes, WE should", "Ada"),
            ("only later", "Cleo"),
            ("Only  later", "Cleo"),
            ("CLEO", "Cleo"),
            (None, ""),
            ("", ""),
            ("null", ""),
            ("None", ""),
            ("nobody", ""),
            ("A1 (Ada)", "Ada"),
            ("B1. no", "Bob"),
        ],
    )
    def test_it_is_known_by_letter_stance_and_name_in_any_case(self, winner: str | None, name: str) -> None:
        assert finds(render_finding(winner)).winner == name

    @pytest.mark.parametrize(
        ("winner", "problem"),
        [
            ("E1", "names no position"),
            ("Proponent", "names no position"),
            ("Position", "names no position"),
            ("A1 and B1", "names more than one position"),
            ("not A1", "says more than a position"),
        ],
    )
    def test_a_stranger_is_refused(self, winner: str, problem: str) -> None:
        assert (
            useless(render_finding(winner))
            == f'"winner" {problem}: it must be one of A1, B1, C1, D1, or null'
        )

    def test_a_stance_that_two_defend_names_neither(self) -> None:
        assert useless(render_finding("NO!")).startswith('"winner" names more than one position')
        assert finds(render_finding("D1")).winner == "Dan"

    def test_a_letter_is_a_letter_even_where_somebody_is_called_so(self) -> None:
        cast = (Debater(name="B1", stance="c", model="m"), Debater(name="C1", stance="a", model="m"))
        assert finds(render_finding("A1"), *cast).winner == "B1"
        assert finds(render_finding("B1"), *cast).winner == "C1"
        assert finds(render_finding("c1"), *cast, Debater(name="x", stance="y", model="m")).winner == "x"

    @pytest.mark.parametrize(
        ("margin", "kept"),
        [
            *((0, 0), (3, 3), (4, 3), (99, 3), ("2", 2), (2.0, 2), (1.5, 1), (True, 1), (None, 1)),
            *(("high", 1), ("margin: 2", 2), (float("inf"), 1)),
        ],
    )
    def test_a_margin_out_of_range_is_brought_into_it(self, margin: Any, kept: int) -> None:
        assert finds(render_finding(margin=margin)).margin == kept

    @pytest.mark.parametrize(
        ("own", "next_best", "margin"),
        [(50, 31, 0), (50, 30, 1), (60, 11, 1), (70, 20, 2), (89, 10, 2), (90, 10, 3)],
    )
    def test_a_margin_follows_from_the_beliefs_where_there_are_any(
        self, own: int, next_best: int, margin: int
    ) -> None:
        beliefs = {"A1": own, "B1": next_best, "none": 100 - own - next_best}
        assert finds(render_finding(margin=3, beliefs=beliefs)).margin == margin

    def test_beliefs_are_percentages_that_sum_to_a_hundred(self) -> None:
        thirds = finds(render_finding(winner=None, beliefs={"A1": 1, "B1": 1, "C1": 1})).beliefs
        shares = {belief.name: belief.percent for belief in thirds}
        assert shares == {"Ada": 34, "Bob": 33, "Cleo": 33, "Dan": 0, "": 0}

    @pytest.mark.parametrize("beliefs", ["A1", [1], {"A1": -1}, {"A1": "much"}, {"A1": 0}, {"E1": 100}])
    def test_beliefs_that_are_no_numbers_are_left_out(self, beliefs: Any) -> None:
        assert finds(render_finding(beliefs=beliefs)).beliefs == ()

    def test_most_belief_wins_where_no_winner_is_named_however_close(self) -> None:
        close = finds('{"beliefs": {"A1": 51, "B1": 49}}')
        assert (close.winner, close.margin) == ("Ada", 0)
        assert finds('{"beliefs": {"A1": 50, "B1": 50}}').winner == ""

    @pytest.mark.parametrize(
        ("probability", "margin"),
        [(90, 3), (0.9, 3), ("0.9", 3), ("1.0", 3), (75, 2), ("60 %", 1), (None, 0), ("high", 0)],
    )
    def test_advice_that_is_none_of_the_positions_is_as_clear_as_its_judge_is_sure(
        self, probability: Any, margin: int
    ) -> None:
        own = render_finding(None, recommendation="Both.", probability=probability)
        assert (finds(own).recommendation, finds(own).margin) == ("Both.", margin)

    def test_what_all_sides_got_wrong_what_they_missed_and_what_to_check_is_read(self) -> None:
        told = {"corrected": "It is 8 GB.", "missed": "Backups.", "next": "Measure.", "probability": 80}
        found = finds(render_finding("A1", recommendation="Keep it.", **told))
        assert found.model_dump(include={"recommendation", *told}) == {"recommendation": "Keep it.", **told}

    def test_what_a_judge_calls_none_is_left_out(self) -> None:
        told = {"recommendation": "No.", "corrected": "None.", "missed": "n/a", "next": "nothing"}
        found = finds(render_finding("A1", **told))
        assert (found.recommendation, found.corrected, found.missed, found.next) == ("No.", "", "", "")

    def test_criteria_are_kept_where_they_name_a_position_or_none(self) -> None:
        criteria = {"support": "A1", "response": "even", "relevance": "E1", "consequences": 3, "style": "B1"}
        found = finds(render_finding(criteria=criteria)).criteria
        assert [(c.name, c.better) for c in found] == [("support", "Ada"), ("response", "")]

    def test_the_words_of_a_judge_are_cleaned_too(self) -> None:
        assert finds(render_finding(verdict=" So\x00\r\nit \ud800 is ")).verdict == "So\nit ? is"

    def test_a_judgment_knows_its_seat_its_reading_and_its_price(self) -> None:
        debate, call = JUDGMENT
        event = interpret(
            debate, call, Reply(render_finding("B1"), build_usage("vendor/x"), informative=False)
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
