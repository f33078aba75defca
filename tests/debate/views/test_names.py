"""People read names and never labels, whatever a model wrote and wherever it is shown."""

import json
import re
from typing import Any

import pytest

from server.debate.commands.setup.open import open_debate
from server.debate.facts.answers import Lookup, Researched
from server.debate.facts.events import Recorded, Synthesized
from server.debate.facts.interventions import Challenged, NoteAdded
from server.debate.facts.setup.opened import Opened
from server.debate.replies.extract import build_failure
from server.debate.rules.calls import Call
from server.debate.state.labels import locate_labels, name_sides, order_sides, side_labels
from server.debate.views.catalog import ALL_VIEWS, View, ViewSource
from server.debate.views.markdown import render_moderation, render_transcript
from server.debate.views.names import MODEL_TEXTS, name_debate, name_event
from server.debate.views.verdict import build_result, build_verdict
from server.engine.database.summaries import build_search_text
from tests.support.simulation import (
    DebateSimulation,
    ScriptAnswer,
    build_ballot,
    build_request,
    build_usage,
    render_finding,
    simulate,
)

pytestmark = pytest.mark.requirement("C21")

NAMES = ("Ada", "Ben", "Cleo")
SHOWN = [view for view in ALL_VIEWS if view.name not in ("events", "prompt", "prompts", "family")]
LEADING = {"moderator": {"opens": True, "closes": True}, "referee": True, "synthesizer": True}


def open_with_labels(**asked: Any) -> Opened:
    debaters = [{"name": name, "stance": f"stance of {name}"} for name in NAMES]
    return open_debate(build_request(debaters=debaters, **asked), models=["scripted"], seed=7)


def find_labels(setup: Opened, reading: int) -> tuple[str, ...]:
    """The labels of the names in a reading: turned by one in the second."""
    return setup.labels if reading == 1 else (setup.labels[-1], *setup.labels[:-1])


def say(setup: Opened, reading: int = 1) -> str:
    """What a seat says that sees these labels: each with the name of who is behind it, in many spellings."""
    labels = find_labels(setup, reading)
    forms = ("{}", "**{}**", "{}'s", '"{}"', "({})", "{}:", "# {}")
    return " ".join(
        f"{form.format(written)}={name}."
        for form in forms
        for label, name in zip(labels, NAMES, strict=True)
        for written in (label, label.lower())
    )


def everybody_uses_labels(setup: Opened) -> Any:
    first = setup.labels[0]

    def script(call: Call) -> ScriptAnswer:
        text = say(setup, max(call.reading, 1))
        answers: dict[str, Any] = {
            "message": {
                "to": setup.labels[NAMES.index(call.seat) - 1] if call.seat in NAMES else "",
                "text": text,
            },
            "ballot": build_ballot(first, text),
            "opening": {"next_speakers": NAMES, "briefing": text, "new_angle": text, "done": False},
            "closing": {
                "summary": text,
                "status": "SETTLED" if call.round == 2 else "CONTINUE",
                "decision": text,
            },
            "judgment": json.loads(render_finding(None, reasoning=text, verdict=text, recommendation=text)),
        }
        if call.seat == "judge 4":
            answers["judgment"]["winner"] = dict(zip(NAMES, find_labels(setup, call.reading), strict=True))[
                "Cleo"
            ]
        if call.seat == "judge 2" and call.attempt == 1:
            return f"I cannot tell {first}."  # the failure names every label
        return json.dumps(answers[call.task]) if call.task in answers else text

    return script


def hold(**asked: Any) -> DebateSimulation:
    setup = open_with_labels(**asked)
    return simulate(setup, everybody_uses_labels(setup)).play()


HELD = {
    "full": hold(format="full", options={**LEADING, "judges": {"models": ["a/x", "b/y", "c/z", "d/w"]}}),
    "handoff": hold(format="handoff", max_rounds=2),
    "settle": hold(format="settle", options={"moderator": LEADING["moderator"]}),
    "oxford": hold(format="oxford"),
}


def collect_texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for part in value.values() for text in collect_texts(part)]
    if isinstance(value, list | tuple):
        return [text for part in value for text in collect_texts(part)]
    return [value] if isinstance(value, str) else []


def check(setup: Opened, text: str) -> None:
    """No label stands in the text, and wherever one stood is now the name of who was behind it."""
    assert not [label for label in setup.labels if label.casefold() in text.casefold()]
    assert all(one == other for one, other in re.findall(r"(\w+)\W*(?:'s)?\W*=(\w+)\.", text))


@pytest.mark.parametrize("view", SHOWN, ids=lambda view: view.name)
@pytest.mark.parametrize("held", HELD)
def test_no_view_of_a_debate_shows_a_label(held: str, view: View) -> None:
    at = HELD[held]
    for number in range(1, at.debate.round + 1):
        source = ViewSource("d-1", at.debate, at.log, round=number)
        for text in (view.render_text(source), *collect_texts(view.build(source))):
            check(at.debate.setup, text)


@pytest.mark.parametrize("held", HELD)
def test_no_result_search_or_summary_of_a_debate_shows_a_label(held: str) -> None:
    debate = HELD[held].debate
    found = build_search_text(debate, [entry.event for entry in HELD[held].log])
    texts = collect_texts([build_result(debate), build_verdict(debate).model_dump()])
    texts += [found, *(render_moderation(debate, n) for n in range(1, debate.round + 1))]
    for text in texts:
        check(debate.setup, text)
    assert "Ada=Ada." in found


@pytest.mark.parametrize("held", HELD)
def test_no_event_shown_by_itself_has_a_label(held: str) -> None:
    debate, log = HELD[held].debate, HELD[held].log
    for entry in log[1:]:
        for text in collect_texts(name_event(debate, entry.event).model_dump()):
            check(debate.setup, text)


def test_the_events_themselves_keep_what_was_said() -> None:
    at = HELD["full"]
    [view] = [view for view in ALL_VIEWS if view.name == "events"]
    rows = view.build(ViewSource("d-1", at.debate, at.log, is_whole=True))["events"]
    assert [row["kind"] for row in rows] == [entry.event.kind for entry in at.log]
    said = {row["text"] for row in rows if row["kind"] == "spoke"}
    assert said == {say(at.debate.setup)}
    readings = {row["slot_index"]: row["verdict"] for row in rows if row["kind"] == "judged"}
    assert readings == {reading: say(at.debate.setup, reading) for reading in (1, 2)}


def test_what_people_read_decides_nothing_and_is_read_again_without_change() -> None:
    for at in HELD.values():
        named = name_debate(at.debate)
        assert named == name_debate(named)
        assert (named.version, named.setup) == (at.debate.version, at.debate.setup)


def test_the_words_of_people_are_left_as_they_are() -> None:
    setup = open_with_labels()
    at = simulate(setup).add_events(NoteAdded(text=say(setup)), Challenged(text=say(setup)))
    at.play_to_round(1)
    assert render_transcript(at.debate, at.log).count(say(setup)) == 2


def test_a_failure_of_a_second_reading_is_named_by_the_labels_of_that_reading() -> None:
    at = simulate(open_with_labels(options={"judges": {"count": 1}}))
    at.play_to_round(3)
    [second] = [call for call in at.pending_calls() if call.reading == 2]
    failure = build_failure(second, "unreadable", say(at.debate.setup, 2), build_usage())
    check(at.debate.setup, name_event(at.debate, failure).detail)


def test_what_a_model_looked_up_is_shown_with_names_and_what_was_found_as_it_is() -> None:
    at = simulate(open_with_labels()).play_to_round(1)
    label = at.debate.setup.labels[0]
    lookup = Lookup(tool="web/search", arguments=f'{{"q": "{label}"}}', result=f"{label} is a tree")
    event = Researched(seat="Ada", round=1, seen=1, lookups=(lookup,))
    [shown] = name_event(at.debate, event).lookups
    assert (shown.arguments, shown.result) == ('{"q": "Ada"}', f"{label} is a tree")


class TestDeliverables:
    def deliver(self, schema: dict[str, Any], value: Any) -> Any:
        setup = open_with_labels(format="round_robin", options={"output_schema": schema})
        at = simulate(
            setup, lambda call: json.dumps(value(setup)) if call.task == "deliverable" else "x"
        ).play()
        assert isinstance(at.debate.deliverable, Synthesized)
        return json.loads(build_verdict(at.debate).deliverable)

    def test_names_stand_in_the_strings_of_a_result_and_not_in_its_keys(self) -> None:
        shown = self.deliver(
            {"type": "object"}, lambda setup: {"who": [say(setup), {setup.labels[0]: 1}], "n": 2}
        )
        assert shown["n"] == 2
        assert "Ada=Ada." in shown["who"][0]
        assert "Ada" not in shown["who"][1]

    def test_a_result_keeps_its_labels_where_its_schema_has_no_room_for_names(self) -> None:
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {"who": {"type": "string", "maxLength": 13}},
        }
        assert (
            self.deliver(schema, lambda setup: {"who": f"{setup.labels[2]} wins, yes"})["who"]
            != "Cleo wins, yes"
        )
        del schema["properties"]["who"]["maxLength"]
        assert (
            self.deliver(schema, lambda setup: {"who": f"{setup.labels[2]} wins, yes"})["who"]
            == "Cleo wins, yes"
        )

    def test_where_a_schema_has_names_for_values_the_model_reads_and_writes_labels(self) -> None:
        properties = {
            "winner": {"anyOf": [{"enum": ["Ada", "Ben"]}, {"type": "null"}]},
            "Cleo": {"type": "object", "properties": {"by": {}, "votes": {}}},
        }
        schema = {"type": "object", "properties": properties, "required": ["winner", "Cleo"]}
        shown = self.deliver(
            schema,
            lambda setup: {"winner": setup.labels[1], setup.labels[2]: {"by": [setup.labels[0]], "votes": 2}},
        )
        assert shown == {"winner": "Ben", "Cleo": {"by": ["Ada"], "votes": 2}}
        at = simulate(open_with_labels(format="round_robin", options={"output_schema": schema})).play()
        asked = next(prompt for call, prompt in at.calls_made if call.task == "deliverable")
        assert asked.schema
        assert asked.schema["properties"]["winner"]["anyOf"][0] == {"enum": [*at.debate.setup.labels[:2]]}
        assert not [name for name in NAMES if f'"{name}"' in str(asked)]


def test_an_entry_that_is_named_is_still_the_entry_it_was() -> None:
    at = HELD["full"]
    for entry in at.log:
        named = name_event(at.debate, entry.event)
        assert isinstance(entry, Recorded)
        assert type(named) is type(entry.event)
        assert named.model_dump(exclude=set(MODEL_TEXTS.get(type(named), ()))) == entry.event.model_dump(
            exclude=set(MODEL_TEXTS.get(type(named), ()))
        )


def test_a_page_is_told_where_names_stand_in_place_of_labels() -> None:
    debate = simulate(open_with_labels()).debate
    label = side_labels(debate, 1)["Ben"]
    text = f"I answer {label}: no, {label}."

    places = list(locate_labels(text, order_sides(debate)))

    assert [(text[start:end], name) for start, end, name in places] == [(label, "Ben"), (label, "Ben")]
    assert name_sides(debate, text) == "I answer Ben: no, Ben."
