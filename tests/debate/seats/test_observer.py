"""The observer marks rhetoric: the server finds the words, the accused may contest them, judges do not read it."""

from typing import Any

import pytest

from server.debate.facts.answers import Span
from server.debate.facts.errors import IllegalEvent, InvalidRequestError
from server.debate.machine.transitions import apply, replay
from server.debate.replies.extract import Reply
from server.debate.seats.observer import Mark, Observed, ObserverInput, list_marks
from server.debate.views.events import build_event_row
from server.debate.views.markdown import render_transcript
from server.debate.views.rounds import build_analysis, list_tasks
from server.debate.views.verdict import build_verdict
from tests.support import simulation
from tests.support.observer_debates import AGAINST_BOB, TEAM, TURNS, allege, observe
from tests.support.rhetoric_cases import CASES, Case

pytestmark = pytest.mark.requirement("D14")


def hold_case(case: Case, **changes: str) -> simulation.DebateSimulation:
    fields = {"words": case.words, "original_words": case.original or None} | changes
    of = "A1" if case.original else None
    mark = allege(pattern=case.pattern.replace("_", " "), of=of, **fields)
    return observe({"Bob": case.before, "Ada": case.turn}, mark)


def retype(words: str) -> str:
    """The same words with other white space, quotation marks and dashes."""
    return "“" + words.replace(" ", "  ").replace("'", "\u2019").replace("-", "\u2013") + "”"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.pattern)
def test_what_is_alleged_is_recorded_with_its_exact_place(case: Case) -> None:
    original = {"original_words": retype(case.original)} if case.original else {}
    at = hold_case(case, words=retype(case.words), **original).play()
    (mark,) = at.debate.find_readings(Observed)[0].marks
    assert (mark.pattern, mark.said.quote.rstrip("."), mark.said.seat) == (
        case.pattern,
        case.words.rstrip("."),
        "Ada",
    )
    assert case.turn[mark.said.start : mark.said.end] == mark.said.quote
    if case.original:
        assert mark.original
        assert (mark.original.seat, mark.original.round) == ("Bob", 1)
        assert case.before[mark.original.start : mark.original.end] == mark.original.quote
    name = case.pattern.replace("_", " ")
    assert build_verdict(at.debate).rhetoric == [f"Ada, of 1 turns, as the observer alleges: {name} in 1"]
    assert at.debate.find_readings(Observed)[0].patterns == case.pattern
    rhetoric = build_analysis(at.debate)["rhetoric"]
    assert rhetoric["debaters"]["Ada"] == {"turns": 1, "patterns": {case.pattern: 1}}
    assert rhetoric["marks"][0]["said"]["quote"] == mark.said.quote
    assert rhetoric["marks"][0]["original"] == (mark.original and mark.original.model_dump())
    assert rhetoric["marks"][0]["alleged_by"] == "observer"


def test_no_word_makes_a_pattern_that_the_observer_does_not_see() -> None:
    at = observe({"Bob": CASES[-1].before, "Ada": CASES[-1].turn}).play()
    (observed,) = at.debate.find_readings(Observed)
    assert observed == Observed(round=1, seen=observed.seen, usage=observed.usage)
    assert build_verdict(at.debate).rhetoric == []


@pytest.mark.parametrize(
    "wrong",
    [
        allege(words="Bob never shopped anything."),  # another letter
        allege(words="Two years are too long."),  # another's words
        allege(words="Bob never shipped anything.", speaker="A1"),
        allege(words="Bob never shipped anything.", speaker="Cleo"),
        allege(words="Bob never shipped anything.", pattern="red herring"),
        allege(words="Bob never shipped anything.", pattern="straw man"),  # of nobody's words
        allege(words="Bob never", pattern="straw man", of="B1", original_words="Six weeks suffice."),  # of her own
        allege(words="Bob never", pattern="straw man", of="A1", original_words="Six weeks suffice."),
        allege(words="Bob never", pattern="straw man", of="A1", original_words="Two years are too lung."),
        allege(words="s."),
        allege(words=""),
        allege(words="shipped any"),  # a part of a word
        allege(words=7),
        {"pattern": ["ad hominem"]},
        "ad hominem",
        None,
    ],
)  # fmt: skip
def test_an_allegation_that_names_no_such_words_is_dropped_and_counted(wrong: Any) -> None:
    at = observe(TURNS, wrong).play()
    (observed,) = at.debate.find_readings(Observed)
    assert (observed.marks, observed.dropped) == ((), 1)
    told = "Left out: 1 allegation whose words are not in the turns named."
    assert told in render_transcript(at.debate, at.log)


def test_keys_patterns_and_speakers_are_read_in_any_spelling() -> None:
    odd = {"Pattern": "Ad_Hominem", "Speaker": "Ada", "words": "bob never shipped anything", "WHY": "x"}
    exact = odd | {"words": "Bob never shipped anything"}
    found = observe(TURNS, odd, exact, exact).play().debate.find_readings(Observed)[0]
    assert [mark.said.quote for mark in found.marks] == ["Bob never shipped anything"]
    assert found.dropped == 1  # a quote in other case is another text


def test_a_prompt_names_the_patterns_and_near_misses_and_asks_for_exact_words() -> None:
    at = observe(TURNS).play()
    (prompt,) = at.prompts("observer")
    for pattern in {case.pattern for case in CASES}:
        assert f"- {pattern.replace('_', ' ')}: " in prompt
    assert "Copy the words exactly" in prompt
    (asked,) = [made for call, made in at.calls_made if call.seat == "observer"]
    assert asked.schema
    assert asked.schema["properties"]["marks"]["items"]["properties"]["speaker"]["enum"] == ["A1", "B1"]


class TestHiding:
    def texts(self, at: simulation.DebateSimulation, task: str) -> list[str]:
        return [simulation.render_prompt_text(prompt) for call, prompt in at.calls_made if call.task == task]

    def test_neither_judges_nor_others_read_what_is_alleged(self) -> None:
        at = observe(TURNS, AGAINST_BOB, rounds=2).play()
        judges = self.texts(at, "judgment")
        assert judges
        assert not any("observer" in text.lower() or "ad hominem" in text for text in judges)
        bob = [text for text in at.prompts("Bob") if "ad hominem" in text]
        assert bob == []

    def test_judges_read_it_where_that_is_asked_for_with_turned_labels(self) -> None:
        at = observe(TURNS, AGAINST_BOB, observer={"shown": True}).play()
        first, second = self.texts(at, "judgment")
        assert "B1 in round 1, ad hominem:\n> Bob never shipped anything." in first
        assert "A1 in round 1, ad hominem:\n> Bob never shipped anything." in second
        assert "It may be wrong" in first

    def test_nothing_is_shown_where_nothing_is_alleged_or_the_observer_is_hidden(self) -> None:
        visibility = {"hide_from_seats": ["observer"]}
        for at in (
            observe(TURNS, observer={"shown": True}),
            observe(TURNS, AGAINST_BOB, observer={"shown": True}, visibility=visibility),
        ):
            assert not any("observer" in text for text in self.texts(at.play(), "judgment"))


def test_a_retracted_turn_takes_its_marks_out_of_the_report() -> None:
    at = observe(TURNS, AGAINST_BOB, rounds=2).play_to_round(2)
    at.intervene("retract", to="Ada", round=1)
    assert build_verdict(at.play().debate).rhetoric == []
    assert list(list_marks(at.debate)) == []


def spoil(mark: Mark, **changes: Any) -> Mark:
    return mark.model_copy(update=changes)


def test_a_record_whose_spans_are_wrong_is_refused() -> None:
    at = observe(TURNS, AGAINST_BOB).play()
    before, event = at.before(Observed)
    (mark,) = event.marks
    said = mark.said
    own = Span(**(said.model_dump() | {"start": 28, "end": 45, "quote": "Six weeks suffice"}))
    for wrong, why in (
        ([spoil(mark, said=said.model_copy(update={"end": said.end - 1}))], "not in the turn"),
        ([spoil(mark, said=said.model_copy(update={"seat": "Bob"}))], "not in the turn"),
        ([spoil(mark, said=said.model_copy(update={"start": 3, "end": 3, "quote": ""}))], "not in the turn"),
        ([spoil(mark, pattern="straw_man")], "made of the words of another"),
        ([spoil(mark, original=said)], "made of the words of another"),
        ([spoil(mark, pattern="straw_man", original=own)], "own words"),
        ([mark] * 41, "too many"),
    ):
        with pytest.raises(IllegalEvent, match=why):
            apply(before, event.model_copy(update={"marks": tuple(wrong)}))
    later = observe(TURNS, AGAINST_BOB, rounds=2).play()
    index = max(i for i, made in enumerate(later.events) if isinstance(made, Observed))
    with pytest.raises(IllegalEvent, match="another round"):
        apply(replay(later.events[:index]), later.events[index].model_copy(update={"marks": (mark,)}))


def test_a_model_too_small_sees_nothing() -> None:
    opened = simulation.build_setup(format="verdict", debaters=TEAM, max_rounds=1, options={"observer": True})
    small = Reply("It says so.", simulation.build_usage("local"), informative=False)
    at = simulation.simulate(opened, simulation.task_script({"observation": small})).play()
    (observed,) = at.debate.find_readings(Observed)
    assert (observed.informative, observed.marks) == (False, ())
    assert build_analysis(at.debate)["rhetoric"]["observed_rounds"] == []


@pytest.mark.parametrize("bad", ["No marks.", '{"marks": "none"}', '{"marks": {"pattern": "x"}}'])
def test_an_answer_without_a_list_of_marks_is_asked_for_again_and_hinders_nobody(bad: str) -> None:
    at = observe(TURNS)
    at.script = simulation.task_script({"observation": bad})
    at.play()
    assert at.status == "concluded"
    assert [failure.cause for failure in at.debate.failures] == ["unreadable"] * 2
    assert at.debate.find_readings(Observed) == ()
    assert ("observer", "observation", "failed") in [
        (row["seat"], row["task"], row["state"]) for row in list_tasks(at.debate)
    ]


def test_the_arguments_are_a_model_or_true() -> None:
    assert simulation.build_setup(options={"observer": "vendor/x"}).officers == (
        simulation.build_setup(options={"observer": ObserverInput(model="vendor/x")}).officers
    )
    assert simulation.build_setup().officers == ()
    with pytest.raises((InvalidRequestError, ValueError)):
        simulation.build_setup(options={"observer": {"show": True}})


def test_an_observation_without_marks_is_a_message_and_no_pattern() -> None:
    at = observe(TURNS, AGAINST_BOB, rounds=2).play()
    rows = [build_event_row(at.debate, entry) for entry in at.log if isinstance(entry.event, Observed)]
    assert [row["names"] for row in rows] == [["rhetorical_pattern"], ["agent_message"]]
