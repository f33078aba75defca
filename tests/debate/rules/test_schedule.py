"""Who speaks when, as `options.speaking` and `options.moderator` have it, and what limits there are."""

from itertools import pairwise
from typing import Any

import pytest

from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.setup.seats import Moderator
from tests.support.simulation import DebateSimulation, build_debaters, build_setup, simulate

pytestmark = pytest.mark.requirement("C2")


def together(at: DebateSimulation) -> list[int]:
    """How many were asked at once, for each set of questions to debaters in the first round."""
    found = []
    at.play_to_round(1)
    while at.debate.round == 1 and (calls := at.pending_calls()):
        found.append(sum(call.seat in at.debate.names for call in calls))
        at.add_events(*map(at.answer, calls))
        if not at.pending_calls():
            break
    return found


class TestSpeaking:
    @pytest.mark.parametrize(
        ("speaking", "asked"), [("together", [3]), ("declared", [1, 1, 1]), ("handoff", [1])]
    )
    def test_any_format_can_be_held_in_any_order(self, speaking: str, asked: list[int]) -> None:
        for name in ("advocates", "verdict", "handoff", "round_robin", "full"):
            made = build_setup(format=name, debaters=build_debaters(3), options={"speaking": speaking})
            assert together(simulate(made)) == asked
            assert simulate(made).play().status == "concluded"

    @pytest.mark.requirement("C3")
    def test_a_moderator_who_is_asked_for_chooses_who_speaks(self) -> None:
        for name in ("advocates", "verdict", "settle", "handoff", "round_robin", "full"):
            at = simulate(
                build_setup(format=name, debaters=build_debaters(3), options={"speaking": "moderated"})
            )
            assert together(at) == [0, 1, 1, *([0] if name == "settle" else [])]
            assert at.play().status == "concluded"

    @pytest.mark.requirement("B1")
    def test_hand_offs_begin_anew_with_each_phase_that_others_interrupt(self) -> None:
        made = build_setup(format="full", debaters=build_debaters(3), options={"speaking": "handoff"})
        at = simulate(made).play()
        spoke = [entered.order[0] for entered in at.debate.rounds if len(entered.order) == 1]
        assert spoke[0] == spoke[4] == "Speaker 1"
        assert all(one != other for one, other in pairwise(spoke[:4]))


@pytest.mark.requirement("C3", "A2")
class TestModerator:
    @pytest.mark.parametrize(
        ("name", "options", "opens", "closes"),
        [
            ("verdict", {"moderator": {}}, True, False),
            ("verdict", {"moderator": {"closes": True}}, False, True),
            ("verdict", {"moderator": {"opens": True, "closes": True}}, True, True),
            ("verdict", {"speaking": "moderated"}, True, False),
            ("verdict", {"speaking": "moderated", "moderator": {"closes": True}}, True, True),
            ("verdict", {"speaking": "together", "moderator": {"closes": True}}, False, True),
            ("settle", {}, False, True),
            ("settle", {"moderator": {}}, False, True),
            ("settle", {"moderator": {"opens": True}}, True, True),
            ("settle", {"moderator": {"closes": False}}, True, False),
            ("settle", {"speaking": "moderated"}, True, True),
            ("settle", {"speaking": "together"}, False, True),
        ],
    )
    def test_it_opens_and_closes_as_asked_else_as_the_format_has_it(
        self, name: str, options: dict[str, Any], opens: bool, closes: bool
    ) -> None:
        made = build_setup(format=name, options=options)
        assert made.moderator == Moderator(model="scripted", opens=opens, closes=closes)
        assert (made.phases[0].order == "moderated") == opens

    def test_its_model_prompt_and_tools_are_its_own(self) -> None:
        asked = {"opens": True, "model": " vendor/m ", "prompt": " Be strict. ", "tools": ["web"]}
        assert build_setup(format="verdict", options={"moderator": asked}).moderator == Moderator(
            model="vendor/m", opens=True, prompt="Be strict.", tools=("web",)
        )

    @pytest.mark.parametrize(
        ("options", "why"),
        [
            ({"moderator": {"opens": False}}, "options.moderator must open rounds, close them"),
            (
                {"moderator": {"opens": False, "closes": False}},
                "options.moderator must open rounds, close them",
            ),
            (
                {"speaking": "moderated", "moderator": {"opens": False, "closes": True}},
                "options.speaking=moderated needs options.moderator.opens=true.",
            ),
            (
                {"speaking": "together", "moderator": {}},
                "A moderator who opens the rounds chooses who speaks: leave options.speaking=together out",
            ),
            (
                {"moderator": {"closes": True, "tools": ["web"]}},
                "options.moderator.tools needs options.moderator.opens=true.",
            ),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, options: dict[str, Any], why: str) -> None:
        with pytest.raises(InvalidRequestError) as refused:
            build_setup(format="verdict", options=options)
        assert str(refused.value).startswith(why)


@pytest.mark.requirement("C15", "A1")
class TestPositions:
    @pytest.mark.parametrize("name", ["settle", "round_robin"])
    def test_a_role_or_a_prompt_will_do_in_place_of_a_stance(self, name: str) -> None:
        asked = [
            {"name": "Ada", "role": "engineer"},
            {"name": "Bob", "system_prompt": "Mind the law."},
            {"name": "Cleo", "stance": "wait", "role": "lawyer"},
        ]
        made = build_setup(format=name, debaters=asked)
        assert [(d.stance, d.role) for d in made.debaters] == [
            ("engineer", "engineer"),
            ("Bob", ""),
            ("wait", "lawyer"),
        ]

    @pytest.mark.parametrize("name", ["settle", "round_robin"])
    def test_one_of_them_there_must_be(self, name: str) -> None:
        with pytest.raises(InvalidRequestError, match="Bob has no role"):
            build_setup(format=name, debaters=[{"name": "Ada", "role": "engineer"}, {"name": "Bob"}])


@pytest.mark.requirement("B6")
class TestLimits:
    def test_a_round_is_cut_where_the_turns_run_out(self) -> None:
        made = build_setup(format="verdict", debaters=build_debaters(3), options={"limits": {"max_turns": 5}})
        at = simulate(made).play()
        assert [turn.seat[-1] for turn in at.debate.turns] == ["1", "2", "3", "1", "2"]
        assert at.debate.rounds[-1].because == "max_turns"
        together_ = build_setup(debaters=build_debaters(3), options={"limits": {"max_turns": 4}})
        assert [turn.round for turn in simulate(together_).play().debate.turns] == [1, 1, 1, 2]

    def test_a_round_in_which_one_may_speak_needs_one_voice(self) -> None:
        made = build_setup(format="verdict", options={"limits": {"max_turns": 1}})
        assert simulate(made).play().status == "concluded"

    def test_the_seats_own_limits_are_recorded(self) -> None:
        own = {"name": "Ada", "stance": "yes", "max_turn_tokens": 99, "turn_timeout": 7, "tools": ["web"]}
        made = build_setup(
            debaters=[own, {"name": "Bob", "stance": "no"}], options={"limits": {"turn_timeout": 30}}
        )
        ada, bob = made.debaters
        assert (ada.max_turn_tokens, ada.turn_timeout, ada.tools) == (99, 7, ("web",))
        assert (bob.max_turn_tokens, bob.turn_timeout, bob.tools) == (0, 0, ())
        assert (made.max_turn_tokens, made.turn_timeout) == (6 * 180, 30)


@pytest.mark.parametrize("name", ["settle", "round_robin"])
def test_where_nobody_judges_options_for_judges_are_refused(name: str) -> None:
    with pytest.raises(
        InvalidRequestError, match=f"{name} has no judges with these phases: leave options.judges out."
    ):
        build_setup(format=name, options={"judges": {"count": 3}})
    assert build_setup(format=name).judges.models == ()
