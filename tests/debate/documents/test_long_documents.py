"""Documents that the models cannot hold: digested by sections, read in passages, and who has read what is said."""

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from server.debate.commands.setup.documents import add_windows
from server.debate.commands.setup.estimate import estimate
from server.debate.documents.digests import build_passages, find_passage_problem
from server.debate.documents.sections import PASSAGE_LENGTH, describe_section, search_passage, split_document
from server.debate.facts.answers import Digested, Extent, PassageRead
from server.debate.facts.errors import IllegalEvent, InvalidRequestError
from server.debate.facts.setup.limits import Window
from server.debate.facts.setup.opened import Opened
from server.debate.machine.transitions import apply, replay
from server.debate.rules.calls import Call
from server.debate.rules.windows import ANSWER_TOKENS, estimate_tokens
from server.debate.views.markdown import render_transcript
from server.debate.views.rounds import build_analysis, list_tasks
from server.debate.views.verdict import build_report
from server.debate.views.warnings import list_setup_warnings
from tests.support.records import build_bodies, refusal
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    Script,
    ScriptAnswer,
    build_setup,
    default_script,
    label_positions,
    simulate,
)

pytestmark = pytest.mark.requirement("D28")

WINDOW = 8_000
FACT = "The bridge near Zurich was closed for nine weeks in 1987 because of rust."


def write_book(pages: int = 300) -> str:
    """A book of so many pages, with one fact on page 212."""
    chance = random.Random(1)  # noqa: S311  (the same book every time)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(3_000)]
    written = []
    for number in range(1, pages + 1):
        lines = [" ".join(chance.choices(words, k=12)) for _ in range(34)]
        lines[10] = FACT if number == 212 else lines[10]
        written.append(f"[page {number}]\n" + "\n".join(lines) + "\n")
    return "".join(written)


BOOK = write_book().strip()
NOTE = "A short note, which everybody reads whole."


def open_long(window: int = WINDOW, **fields: Any) -> Opened:
    documents = fields.pop("documents", [{"title": "Book", "text": BOOK}, {"title": "Note", "text": NOTE}])
    setup = label_positions(build_setup(documents=documents, **fields))
    return add_windows(setup, [Window(model="scripted", tokens=window)])


def read_section(opened: Opened, call: Call) -> str:
    assert opened.reader
    section = opened.reader.sections[call.slot_index]
    text = BOOK[section.start : section.end]
    quotes = [FACT[:48]] if FACT in text else []
    return json.dumps(
        {
            "summary": f"Section {call.slot_index} is about bridges.",
            "quotes": [*quotes, "four words not there"],
        }
    )


def build_script(opened: Opened, **turns: str) -> Script:
    def script(call: Call) -> ScriptAnswer:
        if call.task == "digest":
            return read_section(opened, call)
        asked = turns.get(f"round_{call.round}", "") if call.seat == opened.debaters[0].name else ""
        return f"[1] “{FACT[:48]}” (doc 1).\n{asked}" if call.task == "argument" else default_script(call)

    return script


@pytest.fixture(scope="module")
def opened() -> Opened:
    return open_long()


@pytest.fixture(scope="module")
def played(opened: Opened) -> DebateSimulation:
    script = build_script(opened, round_1="[read doc 1: bridge Zurich rust]", round_2="[read doc 1: page 12]")
    return simulate(opened, script).play()


def test_what_fits_every_window_is_shown_whole(opened: Opened) -> None:
    large = open_long(window=400_000)
    assert large.reader is None
    prompt = next(iter(simulate(large).play_through_round(1).prompts(large.debaters[0].name)))
    assert FACT in prompt
    assert opened.reader
    assert {section.document for section in opened.reader.sections} == {1}


def test_every_section_is_read_once_and_every_prompt_fits(opened: Opened, played: DebateSimulation) -> None:
    assert played.status == "concluded"
    assert opened.reader
    digests = [call for call, _ in played.calls_made if call.task == "digest"]
    assert [call.slot_index for call in digests] == list(range(len(opened.reader.sections)))
    covered = "".join(BOOK[section.start : section.end] for section in opened.reader.sections)
    assert covered == BOOK
    for call, prompt in played.calls_made:
        size = estimate_tokens(message.content for message in prompt.messages)
        assert size + ANSWER_TOKENS <= WINDOW, call


def test_seats_read_the_digest_with_exact_quotes_in_place_of_the_document(played: DebateSimulation) -> None:
    first = played.prompts(played.debate.names[0])[0]
    assert "# Document 1, too long to be shown whole: a digest of it" in first
    assert f"> “{FACT[:48]}” (doc 1, page 212)" in first
    assert "four words not there" not in first
    assert BOOK[1000:1100] not in first
    assert NOTE in first
    assert all(digest.dropped == 1 for digest in played.debate.digests)


def test_a_passage_that_is_asked_for_is_read_by_all_from_the_next_round_on(played: DebateSimulation) -> None:
    first, second = played.debate.passages
    assert (first.round, first.found, second.round, second.found) == (1, "passage", 2, "passage")
    assert FACT in BOOK[first.start : first.end]
    label = played.debate.setup.labels[0]
    seen = f'[doc 1, page 212, {label} asked for: "bridge Zurich rust"]'
    later = [text for text in played.prompts(played.debate.names[1]) if "# Round 2" in text]
    assert all(seen in text and f"> {FACT}" in text for text in later)
    assert not any(seen in text for text in played.prompts(played.debate.names[1]) if "# Round 2" not in text)
    readings = [p.messages[-1].content for call, p in played.calls_made if call.task == "judgment"]
    other = played.debate.setup.labels[1]
    for one, text in zip((label, other), readings, strict=True):
        assert f"[doc 1, page 212, {one} asked for" in text
    steps = "[read doc 1: words to look for]"
    assert steps in played.prompts(played.debate.names[0])[0]


def test_a_quote_of_page_212_is_checked_at_its_place(played: DebateSimulation) -> None:
    rows = build_analysis(played.debate)["evidence"]
    quote = rows[0]["quotes"][0]
    assert (quote["mark"], quote["place"]) == ("[checked]", "page 212")
    assert BOOK[quote["start"] : quote["end"]] == FACT[:48]


def test_who_has_read_what_and_what_it_cost_is_said(opened: Opened, played: DebateSimulation) -> None:
    analysis = build_analysis(played.debate)
    book, note = analysis["documents"]
    assert opened.reader
    count = len(opened.reader.sections)
    assert (book["shown"], book["sections"], book["unread"], note["shown"]) == ("digest", count, [], "whole")
    assert book["not_whole_for"] == [*played.debate.names, "judge 1"]
    assert [passage["place"] for passage in book["passages"]] == ["page 212", "page 12"]
    assert analysis["digest_cost"]["calls"] == count
    caution = next(line for line in build_report(played.debate).cautions if line.startswith("Doc 1"))
    assert f"was too long for {', '.join(book['not_whole_for'])}" in caution
    assert f"in {count} sections, and 2 passages of it." in caution
    assert [task["task"] for task in list_tasks(played.debate)].count("digest") == count
    assert f"digests them in {count} calls" in " ".join(list_setup_warnings(opened, 1))
    expected, prompts = estimate(replay([opened])), [prompt for _, prompt in played.calls_made]
    assert expected.calls >= count
    taken = sum(estimate_tokens(message.content for message in prompt.messages) for prompt in prompts)
    assert expected.input_tokens[0] * 0.9 < taken < expected.input_tokens[1] * 1.1
    assert "asked for" in render_transcript(played.debate, played.log)


@pytest.mark.full
def test_a_crash_between_two_facts_repeats_only_what_was_not_recorded(played: DebateSimulation) -> None:
    for kept in range(1, len(played.events), 3):
        again = DebateSimulation(replay(played.events[:kept]), played.script, events=played.events[:kept])
        again.play()
        assert again.status == "concluded"
        assert again.debate.passages == played.debate.passages
        known = {event.slot_index for event in played.events[:kept] if isinstance(event, Digested)}
        asked = {call.slot_index for call, _ in again.calls_made if call.task == "digest"}
        assert not known & asked
        assert build_analysis(again.debate)["documents"] == build_analysis(played.debate)["documents"]


def test_a_section_that_nobody_could_read_is_named(opened: Opened) -> None:
    default = build_script(opened)

    def script(call: Call) -> ScriptAnswer:
        if call.task == "digest" and call.slot_index == 1:
            return "{}" if call.attempt == 1 else json.dumps({"summary": "", "quotes": []})
        return default(call)

    at = simulate(opened, script).play()
    assert at.status == "concluded"
    (unread,) = build_analysis(at.debate)["documents"][0]["unread"]
    assert unread.startswith("page ")
    assert f"Section 2, {unread}: not read." in at.prompts(at.debate.names[0])[0]
    assert any(f"Nobody read {unread}." in line for line in build_report(at.debate).cautions)


def test_without_any_section_read_the_debate_pauses_and_goes_on_when_it_is_resumed(opened: Opened) -> None:
    works, default = False, build_script(opened)

    def script(call: Call) -> ScriptAnswer:
        if call.task == "digest" and not works:
            return ProviderFailure("unavailable", "no connection")
        return default(call)

    at = simulate(opened, script).play()
    assert at.debate.paused
    assert at.debate.paused.reason.startswith("no section of the documents was read. reader: no connection")
    works = True
    at.intervene("resume")
    assert at.play().status == "concluded"
    assert len(at.debate.digests) == len(opened.reader.sections if opened.reader else ())


@pytest.mark.full
def test_a_digest_in_prose_is_read_too(opened: Opened) -> None:
    default = build_script(opened)

    def script(call: Call) -> ScriptAnswer:
        if call.task != "digest":
            return default(call)
        assert opened.reader
        words = " ".join(BOOK[opened.reader.sections[call.slot_index].start :].split()[4:10])
        return f"It is about bridges: “{words}”, and so on."

    at = simulate(opened, script).play_to_round(1)
    digest = at.debate.digests[0]
    assert digest.summary.startswith("It is about bridges")
    (quote,) = digest.quotes
    assert " ".join(BOOK[quote.start : quote.end].split()) == " ".join(BOOK.split()[4:10])


@pytest.mark.full
def test_requests_are_answered_once_each_and_only_for_long_documents(opened: Opened) -> None:
    turns = {
        "round_1": "[read doc 2: note] [read doc 9: x] [READ document 1, Zurich 1987] [read doc 1: page 3]",
        "round_2": "[read doc 1: bridge Zurich]",
    }
    at = simulate(opened, build_script(opened, **turns)).play()
    assert [(p.query, p.found) for p in at.debate.passages] == [
        ("Zurich 1987", "passage"),
        ("bridge Zurich", "known"),
    ]
    assert (
        "it was shown before]"
        in next(p for c, p in at.calls_made if c.task == "judgment").messages[-1].content
    )
    nothing = simulate(opened, build_script(opened, round_1="[read doc 1: Qwertzuiop]")).play()
    assert [p.found for p in nothing.debate.passages] == ["nothing"]
    none_left = opened.model_copy(
        update={"reader": opened.reader and opened.reader.model_copy(update={"passage_characters": 10})}
    )
    full = simulate(none_left, build_script(none_left, round_1="[read doc 1: Zurich]")).play()
    assert [p.found for p in full.debate.passages] == ["no_room"]
    assert "asks" not in full.prompts(full.debate.names[0])[0].partition("words to look for")[2]


def test_a_fork_inherits_what_was_read_and_asks_nobody_again(played: DebateSimulation) -> None:
    fork = played.fork(1, played.script)
    fork.play()
    assert fork.status == "concluded"
    assert fork.debate.digests == tuple(event for event in fork.events if isinstance(event, Digested))
    assert not [call for call, _ in fork.calls_made if call.task == "digest"]
    assert fork.debate.passages[0].found == "passage"
    assert sum(not fork.debate.is_own(digest) for digest in fork.debate.digests) == len(fork.debate.digests)
    anew = played.fork(0, played.script)
    assert anew.debate.setup.reader is None  # planned anew when it is opened


def build_lies(played: DebateSimulation) -> dict[str, Any]:
    first = next(event for event in played.events if isinstance(event, Digested))
    outside = Extent(start=len(BOOK) - 20, end=len(BOOK) - 2)
    read = played.debate.passages[0]
    return {
        "a quote that is not in its section": first.model_copy(update={"quotes": (outside,)}),
        "a quote beyond the document": first.model_copy(update={"quotes": (Extent(start=1, end=10**9),)}),
        "a book for a summary": first.model_copy(update={"summary": "x" * 5_000}),
        "no summary": first.model_copy(update={"summary": ""}),
        "a section that there is not": first.model_copy(update={"slot_index": 999}),
        "a passage beyond the document": read.model_copy(update={"end": 10**9}),
        "a passage that nobody asked for": read.model_copy(update={"query": "something else"}),
        "another passage than the search finds": read.model_copy(update={"start": 0, "end": 900}),
        "a passage in the wrong round": read.model_copy(update={"round": 2}),
    }


def test_a_record_that_lies_about_what_was_read_is_refused(played: DebateSimulation) -> None:
    for lie, forged in build_lies(played).items():
        truth = played.debate.passages[0] if isinstance(forged, PassageRead) else played.debate.digests[0]
        bodies = build_bodies(played.events)
        bodies[played.events.index(truth)] = forged.model_dump(mode="json")
        assert refusal(lambda _: None, bodies), lie


def test_a_digest_has_three_quotes_at_most(played: DebateSimulation) -> None:
    at = next(number for number, event in enumerate(played.events) if isinstance(event, Digested))
    debate, quotes = (
        replay(played.events[:at]),
        tuple(Extent(start=start, end=start + 2) for start in range(4)),
    )

    assert apply(debate, played.events[at].model_copy(update={"quotes": quotes[:3]})).digests
    with pytest.raises(IllegalEvent, match="too many"):
        apply(debate, played.events[at].model_copy(update={"quotes": quotes}))


def test_the_talk_cannot_begin_before_the_documents_are_read(
    opened: Opened, played: DebateSimulation
) -> None:
    entered = next(event for event in played.events if event.kind == "phase_entered")
    with pytest.raises(IllegalEvent, match="not read yet"):
        apply(replay([opened]), entered)
    with pytest.raises(IllegalEvent):
        apply(replay([opened]), played.debate.passages[0])


def test_sections_that_are_not_the_whole_document_are_refused(
    opened: Opened, played: DebateSimulation
) -> None:
    assert opened.reader
    sections = [section.model_dump() for section in opened.reader.sections]
    gap = [{**sections[0], "end": sections[0]["end"] - 5}, *sections[1:]]
    for wrong in ([], sections[1:], sections[:-1], gap, [{**sections[0], "document": 7}]):
        assert refusal(
            lambda bodies, wrong=wrong: bodies[0]["reader"].update(sections=wrong),  # type: ignore[misc]
            build_bodies(played.events),
        )


def test_limits_that_do_not_pay_for_the_reading_are_refused_at_the_start() -> None:
    with pytest.raises(InvalidRequestError, match="calls to read, and the limits do not allow them"):
        open_long(options={"limits": {"max_calls": 20}})


@pytest.mark.parametrize("asked", [{"window": 2_600}, {"window": 6_500}, {"window": 1_000, "documents": []}])
def test_windows_that_hold_no_question_or_no_digest_that_says_anything_are_refused(asked: Any) -> None:
    with pytest.raises(InvalidRequestError, match="too long"):
        open_long(**asked)


def test_a_document_ends_its_sections_where_it_ends_its_own() -> None:
    text = "".join(f"[page {n}]\n" + "word " * 100 + "\n" for n in range(1, 21))
    pieces = split_document(text, 1_200)
    assert pieces[0][0] == 0
    assert pieces[-1][1] == len(text)
    assert all(text[start:].startswith("[page ") for start, _ in pieces)
    assert split_document("x" * 2_500, 1_000) == ((0, 1000), (1000, 2000), (2000, 2500))
    assert split_document("", 10) == ((0, 0),)
    assert describe_section("no pages here", 0, 5) == "characters 0 to 5"
    assert describe_section(text, *pieces[0]) == "page 1 to page 2"


def test_a_search_finds_the_rarest_words_and_pages_by_number() -> None:
    assert search_passage(BOOK, "Zurich")
    start, end = search_passage(BOOK, "page 212 bridge") or (0, 0)
    assert FACT in BOOK[start:end]
    assert end - start <= PASSAGE_LENGTH
    start, _ = search_passage(BOOK, "p. 7") or (-1, 0)
    assert BOOK[start:].startswith("[page 7]")
    assert search_passage(BOOK, "page 999") is None
    assert search_passage(BOOK, "page 3 Zurich") is None
    assert search_passage(BOOK, "?!") is None
    assert search_passage("", "x") is None


def test_turns_that_were_retracted_ask_for_nothing(opened: Opened) -> None:
    at = simulate(opened, build_script(opened, round_1="[read doc 1: Zurich]")).play_through_round(1)
    name = at.debate.names[0]
    (asked,) = build_passages(at.debate)
    assert find_passage_problem(at.debate, asked) == ""
    at.intervene("retract", to=name, round=1)
    assert build_passages(at.debate) == ()
    assert build_passages(replace(at.debate, rounds=())) == ()
    assert find_passage_problem(at.debate, asked) == "nobody asked for it"
