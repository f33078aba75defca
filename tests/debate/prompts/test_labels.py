"""Labels that are no words: what they are drawn from, that they turn in any language, and that nothing else does."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.debate.commands.setup.open import open_debate
from server.debate.rules.calls import Call
from server.debate.state.labels import (
    draw_labels,
    find_labels,
    label_seats,
    name_sides,
    order_sides,
    replace_labels,
    side_labels,
    turn,
    turn_text,
)
from server.debate.views.markdown import render_transcript
from tests.support.simulation import (
    ARGUED_FORMATS,
    DebateSimulation,
    build_request,
    render_prompt_text,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("C21")

NAMES = {"K73": "A1", "Q31": "A2"}

LANGUAGES = {
    "Arabic": "\u062d\u062c\u0629 \u0648{0} \u0623\u0642\u0648\u0649 \u0645\u0646 {1}\u0627\u0644",
    "Chinese": "\u4e0e{0}\u7684\u7406\u7531\u4e0d\u540c\uff0c{1}\u8bf4\u5f97\u5bf9",
    "German": "{0}s Argument, nicht das des {1}-Lagers",
    "Greek": "\u03c4\u03bf\u03c5 {0}\u03c2 \u03ba\u03b1\u03b9 \u03c4\u03b7\u03c2{1}",
    "Hungarian": "{0}-nak igaza van, {1}hez k\u00e9pest",
    "Korean": "{0}\ub294 {1}\uc758 \uc8fc\uc7a5",
    "mark-up": "_{0}_ and **{1}**, [{0} 2.1], `{1}`, {0}/{1}, ({0}), \u201c{1}\u201d, #{0}",
}

WORDS = ("Bear", "Bull", "Stop", "Go", "Neutral", "It", "A1", "K7!", "K73", "F16", "Q4", "None so far")
SAID = (
    "[1] Bear Stearns failed in a Bull market, and so did the K7! [2] Stop the migration, or Go on with it. "
    "[3] Neutral observers say none so far: It is a matter of F16 and Q4, in A1 paper; the K73 runs."
)


def test_answers_and_reviews_get_other_labels_where_a_text_that_came_later_holds_theirs() -> None:
    opened = open_debate(build_request(format="second_opinion"), models=["a", "b"], seed=7)
    assert opened.answering
    later = label_seats(opened.model_copy(update={"instructions": " ".join(opened.answering.labels)}))
    assert later.answering
    assert not {*later.answering.labels} & {*opened.answering.labels}
    assert later.labels == later.answering.labels[: len(later.debaters)]


def test_the_draw_depends_on_the_seed_alone_and_takes_no_label_that_a_text_holds() -> None:
    drawn = draw_labels(7, 6, [])
    assert drawn == draw_labels(7, 6, [])
    assert drawn != draw_labels(8, 6, [])
    assert len({label[0] for label in drawn}) == len(drawn)
    again = draw_labels(7, 6, [f"The {drawn[0].lower()} runs, as x{drawn[3]}0 did."])
    assert {drawn[0], drawn[3]}.isdisjoint(again)


def test_a_longer_code_is_no_label() -> None:
    assert replace_labels("K731 and MK73 are cars, K7 is none", NAMES) == "K731 and MK73 are cars, K7 is none"
    assert replace_labels("as k73 says", NAMES) == "as A1 says"
    assert replace_labels("K73", {}) == "K73"


@given(st.text(alphabet=st.characters(exclude_categories=("Nd", "Cs"), exclude_characters="0123456789")))
def test_no_word_around_a_label_is_changed(around: str) -> None:
    before = f"{around} " if around[-1:].isascii() else around
    assert replace_labels(f"{before}K73{around}", NAMES) == f"{before}A1{around}"


@pytest.mark.parametrize("language", LANGUAGES)
def test_labels_turn_exactly_whatever_a_language_puts_beside_them(language: str) -> None:
    debate = simulate(open_debate(build_request(), models=["m"], seed=len(language))).debate
    first, second = side_labels(debate).values()
    text = LANGUAGES[language].format(first, second)

    turned = turn_text(debate, text, 2)

    assert turned == LANGUAGES[language].format(second, first)
    assert turn_text(debate, turned, 1, written_in=2) == text
    assert name_sides(debate, text) == name_sides(debate, turned, 2)
    assert name_sides(debate, text) == LANGUAGES[language].format("Proponent", "Opponent")


def test_one_rotation_turns_places_and_labels() -> None:
    seats, labels = ("one", "two", "three"), ("K7", "Q31", "T5", "V8")
    assert turn(seats, labels, 0) == {"K7": "one", "Q31": "two", "T5": "three"}
    assert turn(seats, labels, 4) == {"K7": "two", "Q31": "three", "T5": "one"}
    assert turn((), labels, 2) == {}


@pytest.mark.parametrize("given_", [["[K7]", "q31."], "K7 and Q31", ["K7, Q31", "Z99", 4, None]])
def test_fields_name_answers_in_many_ways(given_: object) -> None:
    assert find_labels(given_, {"K7": "one", "Q31": "two", "T5": "three"}) == ("one", "two")
    assert find_labels("K77", {"K7": "one"}) == ()


def hold_among_words(name: str) -> DebateSimulation:
    """A debate whose debaters are called by words and codes, which everybody uses as such in every text."""
    debaters = [{"name": word, "stance": f"stance number {n}"} for n, word in enumerate(WORDS)]
    options: dict[str, Any] = {"moderator": {"opens": name != "handoff", "closes": True}, "referee": True}
    options |= {"judges": {"count": 1}} if name not in ("settle", "round_robin") else {}
    request = build_request(format=name, debaters=debaters, max_rounds=1, options=options)
    setup = open_debate(request, models=["m"], seed=3)

    def say(call: Call) -> str:
        labels = list(order_sides(simulate(setup).debate, max(call.reading, 1)))
        return f"{SAID} [4] {labels[0]}s case, _{labels[1]}_."

    def answer(**fields: Any) -> Any:
        return lambda call: {key: say(call) if value is ... else value for key, value in fields.items()}

    return simulate(
        setup,
        task_script(
            {
                "argument": lambda call: (
                    json.dumps({"response": say(call), "next_agent_name": "stance number 3"})
                    if name == "handoff"
                    else say(call)
                ),
                "message": answer(to="stance number 2", text=...),
                "answer": say,
                "opening": answer(next_speakers=list(setup.labels), briefing=..., new_angle=..., done=False),
                "closing": answer(summary=..., status="CONTINUE", decision=...),
                "judgment": answer(winner="stance number 1", verdict=..., reasoning=...),
                "audit": say,
            }
        ),
    ).play_on()


@pytest.mark.parametrize("name", ARGUED_FORMATS)
def test_names_that_are_words_are_left_in_every_text(name: str) -> None:
    at = hold_among_words(name)
    parts = [part.partition("] ")[2] for part in re.split(r" (?=\[)", SAID)]
    texts = [render_prompt_text(prompt) for _, prompt in at.calls_made]
    read = [text for text in texts if "Bear Stearns" in text]
    assert read
    assert all(all(part in text for part in parts) for text in read)
    assert all(text.count(" Stearns") == text.count("Bear Stearns") for text in texts)
    assert all(text.count(" the migration") == text.count("Stop the migration") for text in texts)
    assert all(text.count(" observers say") == text.count("Neutral observers say") for text in texts)
    shown = render_transcript(at.debate, at.log)
    assert all(part in shown for part in parts)
    assert "Bears case, _Bull_." in shown
    assert not [label for label in at.debate.setup.labels if label in shown]


def test_a_second_reading_turns_the_labels_in_texts_with_the_sides() -> None:
    at = hold_among_words("advocates")
    readings = {call.reading: render_prompt_text(prompt) for call, prompt in at.calls_made if call.reading}
    first, second, *_ = at.debate.setup.labels
    last = at.debate.setup.labels[-1]
    assert f"{first}s case, _{second}_." in readings[1]
    assert f"{last}s case, _{first}_." in readings[2]
    assert f"{first}s case" not in readings[2]
