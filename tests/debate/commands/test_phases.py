"""Phases that the caller gives in place of the format's: what can be asked for, and what is refused."""

from typing import Any

import pytest

from server.debate.commands.setup.formats import OFFERED_PHASES, PHASES
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.setup.phases import Phase
from server.debate.views.warnings import list_setup_warnings
from tests.support.simulation import DebateSimulation, build_setup, render_prompt_text, simulate

pytestmark = pytest.mark.requirement("D1")

OWN = {"name": "duel", "instruction": "Attack the weakest point."}


def phases(*requested: Any, **other: Any) -> tuple[Phase, ...]:
    return build_setup(options={"phases": list(requested), **other}).phases


def play_phases(*requested: Any, **other: Any) -> DebateSimulation:
    return simulate(build_setup(options={"phases": list(requested), **other})).play()


def phase_names(at: DebateSimulation) -> list[str]:
    return [entered.phase for entered in at.debate.rounds]


def test_names_of_known_phases_are_enough() -> None:
    names = ["opening", "rebuttal", "verdict"]
    assert phases(*names) == tuple(map(PHASES.__getitem__, names))
    at = play_phases(*names)
    assert phase_names(at) == names
    assert at.status == "concluded"


def test_a_known_phase_can_be_altered() -> None:
    changed = {"name": "rebuttal", "order": "declared", "repeats": True, "instruction": "Be brief."}
    _, altered, _ = phases("opening", changed, "verdict")
    assert (altered.order, altered.repeats, altered.instruction) == ("declared", True, "Be brief.")
    _, verdict = phases("opening", {"name": "verdict", "instruction": "Ask who pays."})
    assert verdict.participants == "judges"
    at = play_phases("opening", {"name": "verdict", "instruction": "Ask who pays."})
    assert "# Your task\nTo be followed:\n> Ask who pays.\nYou are a judge." in at.prompts("judge 1")[0]


def test_a_custom_phase_can_ask_for_messages_or_ballots() -> None:
    at = play_phases(
        "opening", {**OWN, "wants": "message"}, {"name": "poll", "wants": "ballot", "instruction": "Vote."}
    )
    assert [call.task for call, _ in at.calls_made if call.round == 2] == ["message"] * 2 + ["answer"] * 2
    assert len(at.debate.ballots) == 2
    assert at.status == "concluded"


@pytest.mark.parametrize("name", ["discussion", "argumentation"])
@pytest.mark.parametrize("wants", ["message", "ballot"])
def test_messages_and_ballots_are_always_written_together(name: str, wants: str) -> None:
    at = play_phases("opening", {"name": name, "wants": wants})
    assert at.debate.setup.phases[1].order == "together"
    assert at.status == "concluded"


@pytest.mark.parametrize(
    ("requested", "expected"),
    [
        (["opening 2", "opening", "opening"], ["opening 2", "opening", "opening 3"]),
        (["opening", "opening 2", "opening"], ["opening", "opening 2", "opening 3"]),
        (["opening", "opening", "opening 2"], ["opening", "opening 2", "opening 2 2"]),
        (["opening remarks", "opening"], ["opening remarks", "opening"]),
    ],
)
def test_names_never_clash(requested: list[str], expected: list[str]) -> None:
    inputs = [name if name in PHASES else {"name": name, "instruction": "Go on."} for name in requested]
    assert [phase.name for phase in phases(*inputs)] == expected
    assert phase_names(play_phases(*inputs)) == expected


def test_there_are_as_many_rounds_as_the_phases_need_and_one_more_where_one_repeats() -> None:
    assert build_setup(options={"phases": ["opening", "rebuttal", "voting"]}).max_rounds == 2
    repeating = ["opening", {"name": "rebuttal", "repeats": True}]
    assert build_setup(options={"phases": repeating}).max_rounds == 3
    assert phase_names(play_phases(*repeating)) == ["opening", "rebuttal", "rebuttal"]
    many = ["opening"] * 6
    assert build_setup(options={"phases": many}).max_rounds == 6
    assert phase_names(play_phases(*many))[-1] == "opening 6"


def test_the_talk_ends_with_its_phases_when_rounds_are_left() -> None:
    at = simulate(build_setup(max_rounds=4, options={"phases": ["opening", "rebuttal", "verdict"]})).play()
    assert at.debate.rounds[-1].because == "phases_held"
    assert at.status == "concluded"


def test_unreached_phases_give_a_warning() -> None:
    made = build_setup(max_rounds=1, options={"phases": ["opening", "rebuttal", "synthesis", "verdict"]})
    warning = "1 round is too few for every phase: rebuttal, synthesis left out."
    assert warning in list_setup_warnings(made, family_count=2)
    assert phase_names(simulate(made).play()) == ["opening", "verdict"]


def test_phases_without_a_decision_give_a_warning() -> None:
    warning = "No phase decides the debate: it ends without a verdict."
    made = build_setup(options={"phases": ["opening"]})
    assert warning in list_setup_warnings(made, family_count=2)
    at = simulate(made).play()
    assert (at.status, at.debate.verdict) == ("concluded", None)
    without = "No phase decides the debate: it ends with the synthesizer's result and no verdict."
    made = build_setup(options={"phases": ["opening", "deliverable"]})
    assert list_setup_warnings(made, family_count=2) == [without]
    made = build_setup(options={"phases": ["opening", "voting"]})
    assert list_setup_warnings(made, family_count=2) == []


REPEATED = [{"name": name, "repeats": True} for name in ("opening", "rebuttal", "verdict", "voting")]
WITHOUT_MODERATOR = "A phase with order=moderated needs options.moderator with opens=true."
REFUSED: dict[str, tuple[list[Any], str]] = {
    "an unknown phase": (
        ["opening", "brawl"],
        f"[1] (brawl): there is no such phase. Phases: {OFFERED_PHASES}. A custom phase",
    ),
    "a phase without a name": ([{"name": " ", "instruction": "Go on."}], "[0] ( ): a phase needs a name."),
    "judges in another order": (
        ["opening", {"name": "verdict", "order": "declared"}],
        "[1] (verdict): its order is fixed, and it takes place once.",
    ),
    "judges who repeat": (["opening", REPEATED[2]], "[1] (verdict): its order is fixed"),
    "a synthesizer who votes": (
        ["opening", {"name": "deliverable", "wants": "ballot"}],
        "[1] (deliverable): its order is fixed",
    ),
    "messages one after the other": (
        [{"name": "cross_examination", "order": "declared"}],
        "[0] (cross_examination): messages and ballots are written together;",
    ),
    "a vote that repeats": (["opening", REPEATED[3]], "[1] (voting): only a phase of talk can repeat."),
    "no talk at all": (["voting", "verdict"], ": nobody argues in these phases. Add a phase of talk, such"),
    "a verdict before anything was said": (["deliverable", "opening"], "[0] (deliverable): a debate begins"),
    "two phases that repeat": (REPEATED[:2], "[1] (rebuttal): only one phase can repeat, and opening does."),
    "two verdicts": (["opening", "verdict", "verdict"], "[2] (verdict 2): verdict can take place once."),
    "two results": (["opening", "deliverable", "deliverable"], "[2] (deliverable 2): deliverable can take"),
    "talk after the verdict": (["opening", "verdict", "rebuttal"], "[1] (verdict): rebuttal comes after it,"),
    "a vote after the result": (["opening", "deliverable", "voting"], "[1] (deliverable): voting comes"),
    "a moderator nobody asked for": ([{"name": "opening", "order": "moderated"}], WITHOUT_MODERATOR),
}


@pytest.mark.parametrize("case", REFUSED)
def test_invalid_phases_are_refused_by_index_and_name(case: str) -> None:
    requested, message = REFUSED[case]
    with pytest.raises(InvalidRequestError) as refused:
        phases(*requested)
    assert str(refused.value).removeprefix("options.phases").startswith(message)


@pytest.mark.parametrize("name", [name for name, phase in PHASES.items() if phase.is_advice])
def test_phases_of_a_second_opinion_are_in_no_other_list(name: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        phases("opening", {"name": name, "instruction": "Be brief.", "order": "declared"}, "verdict")
    told = f"options.phases[1] ({name}): this phase belongs to second_opinion, which takes no list of phases."
    assert str(refused.value).startswith(told)


def test_a_phase_that_says_what_it_wants_may_be_called_as_one_of_a_second_opinion() -> None:
    _, own = phases("opening", {"name": "review", "wants": "argument"})
    assert own.is_talk


PHASE_TASKS = {
    "opening": "make two or three points",
    "argumentation": "Attack the point",
    "rebuttal": "Attack the point",
    "cross_examination": "Send one message",
    "discussion": "answer what was said last",
    "synthesis": "what is agreed by now",
    "closing": "Nobody answers this turn",
    "voting": "do not vote as such",
    "audience_vote": "You are in the audience",
    "verdict": "You are a judge",
    "deliverable": "You are the synthesizer",
}
"""What the seats of each known phase are told, but for those of the answer format."""


def test_the_seats_of_every_known_phase_are_told_what_to_do_in_it() -> None:
    assert [*PHASE_TASKS] == OFFERED_PHASES.split(", ")
    debates = [
        simulate(build_setup(format="full", options={"synthesizer": True})).play(),
        simulate(build_setup(format="handoff")).play(),
        simulate(
            build_setup(options={"phases": ["audience_vote", "opening", "closing", "deliverable"]})
        ).play(),
    ]
    told: dict[str, list[str]] = {}
    for at in debates:
        for call, prompt in at.calls_made:
            name = at.debate.round_phase(call.round).name
            told.setdefault(name, []).append(render_prompt_text(prompt).partition("# Your task")[2])
    for name, task in PHASE_TASKS.items():
        assert any(task in text for text in told[name]), name


def test_the_order_option_applies_to_phases_without_an_order() -> None:
    opening = {"name": "opening", "order": "together"}
    own, other, _ = phases(opening, "rebuttal", "verdict", speaking="declared")
    assert (own.order, other.order) == ("together", "declared")


def test_a_moderator_opens_only_rounds_with_the_moderated_order() -> None:
    moderator = {"moderator": {"opens": True}}
    at = play_phases({"name": "opening", "order": "together"}, "rebuttal", "verdict", **moderator)
    (opened,) = at.debate.round_plans
    assert (opened.round, at.debate.round_phase(opened.round).name) == (2, "rebuttal")
    with pytest.raises(InvalidRequestError, match="every phase has another `order`: leave one out"):
        phases({"name": "opening", "order": "together"}, "verdict", **moderator)
