from collections.abc import Callable
from string import ascii_uppercase
from typing import Any

import pytest
from pydantic import ValidationError

from server.debate.commands.requests import MAX_DOCUMENT_LENGTH, DebateRequest
from server.debate.commands.setup.documents import MAX_TOTAL_DOCUMENT_LENGTH
from server.debate.commands.setup.formats import FORMATS
from server.debate.commands.setup.open import MAX_QUESTION_LENGTH, open_debate
from server.debate.facts.errors import DebateError, InvalidRequestError
from server.debate.facts.setup.documents import Document
from server.debate.facts.setup.limits import Price
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.options import Effort
from server.debate.facts.setup.seats import Debater, JudgePanel
from server.debate.views.warnings import list_setup_warnings
from tests.support.simulation import build_debaters, build_request, build_setup

pytestmark = pytest.mark.requirement("C1")

TWO = build_debaters(2)
EVERY_LABEL = {f"{letter}{number}" for letter in ascii_uppercase for number in range(10, 100)}


def named(*names: str, stance: str = "yes") -> dict[str, Any]:
    """A request with debaters of these names."""
    return {"debaters": [{"name": name, "stance": stance} for name in names]}


def test_a_question_is_enough() -> None:
    opened = open_debate(build_request(question="  Is it worth it?\n"), models=["m"], seed=5)
    assert len(set(opened.labels)) == 2
    assert opened == Opened(
        question="Is it worth it?",
        format="advocates",
        phases=FORMATS["advocates"].phases,
        debaters=(
            Debater(name="Proponent", stance="for", model="m"),
            Debater(name="Opponent", stance="against", model="m"),
        ),
        labels=opened.labels,
        judges=JudgePanel(models=("m",), both_orders=True, anonymize=True, shuffle=True),
        max_rounds=2,
        seed=5,
        effort=Effort(
            level="quick",
            open=("debaters", "ballots", "stop", "judges", "mirror", "baseline"),
            models=(Price(model="m"),),
        ),
    )


EVERYTHING: dict[str, Any] = {
    "format": "verdict",
    "debaters": [
        {"name": " Ada ", "stance": " yes ", "role": " economist "}
        | {"system_prompt": " Figures. ", "model": " m "},
        {"name": "Bob", "stance": "no"},
        {"name": "Cleo", "stance": "later"},
    ],
    "documents": [{"title": "Costs", "text": "100", "url": "https://example.org"}],
    "max_rounds": 3,
    "run": True,
    "options": {
        "judges": {"count": 3, "models": ["j", "k"], "both_orders": True}
        | {"anonymize": False, "shuffle": False, "prompt": " Who pays? "},
        "limits": {"turn_timeout": 9, "max_turn_tokens": 99},
        "instructions": " Be kind. ",
        "seed": 11,
        "tags": ["x", "y"],
    },
}


def test_every_requested_option_is_in_the_setup() -> None:
    assert build_setup(models=["a", "b"], **EVERYTHING) == Opened(
        question="Should a small team write its own scheduler?",
        format="verdict",
        phases=FORMATS["verdict"].phases,
        debaters=(
            Debater(name="Ada", stance="yes", role="economist", system_prompt="Figures.", model="m"),
            Debater(name="Bob", stance="no", model="b"),
            Debater(name="Cleo", stance="later", model="a"),
        ),
        labels=("A1", "B1", "C1"),
        judges=JudgePanel(
            models=("j", "k", "j"), both_orders=True, anonymize=False, shuffle=False, prompt="Who pays?"
        ),
        max_rounds=3,
        seed=11,
        documents=(Document(title="Costs", text="100", url="https://example.org"),),
        instructions="Be kind.",
        turn_timeout=9,
        max_turn_tokens=99,
        run=True,
        tags=("x", "y"),
        effort=Effort(
            level="quick",
            open=("debaters", "ballots", "stop", "mirror", "baseline"),
            models=tuple(Price(model=model) for model in ("m", "b", "a")),
        ),
    )


@pytest.mark.parametrize(
    "put",
    [
        lambda text: {"instructions": text},
        lambda text: {"output_schema": {"title": text}},
        lambda text: {"phases": ["opening", {"name": "own", "instruction": text}, "verdict"]},
        *(
            lambda text, seat=seat: {seat: {"prompt": text}}
            for seat in ("judges", "moderator", "referee", "synthesizer")
        ),
    ],
)
@pytest.mark.requirement("C21")
def test_labels_occur_in_no_text_of_the_set_up(put: Callable[[str], dict[str, Any]]) -> None:
    used = "".join(EVERY_LABEL - {"K73", "W46"}).lower()
    opened = open_debate(build_request(options=put(used)), models=["m"], seed=1)
    assert {*opened.labels} == {"K73", "W46"}


@pytest.mark.requirement("C21")
def test_many_debaters_have_labels_of_their_own_and_texts_that_hold_all_of_them_are_refused() -> None:
    assert len({*open_debate(build_request(debaters=build_debaters(26)), models=["m"], seed=1).labels}) == 26
    documents = [{"title": "Codes", "text": " ".join(EVERY_LABEL)}]
    with pytest.raises(InvalidRequestError, match="use nearly all labels"):
        open_debate(build_request(documents=documents), models=["m"], seed=1)


@pytest.mark.requirement("A4")
class TestModels:
    def test_models_are_assigned_in_turn(self) -> None:
        opened = build_setup(["a", "b"], debaters=build_debaters(5))
        assert [d.model for d in opened.debaters] == ["a", "b", "a", "b", "a"]

    def test_judges_get_models_in_reverse_order(self) -> None:
        assert build_setup(["a", "b", "c"]).judges.models == ("c",)
        assert build_setup(["a", "b"], options={"judges": {"count": 3}}).judges.models == ("b", "a", "b")

    def test_there_are_as_many_judges_as_models_are_named_for_them(self) -> None:
        assert build_setup(options={"judges": {"models": ["x", "y"]}}).judges.models == ("x", "y")
        assert build_setup(options={"judges": {"models": ["x", "y"], "count": 1}}).judges.models == ("x",)

    def test_a_seat_that_names_its_model_takes_none_of_the_others(self) -> None:
        fields = [{"name": "Ada", "stance": "yes"}, {"name": "Bob", "stance": "no", "model": "own"}]
        assert [d.model for d in build_setup(["a", "b"], debaters=fields).debaters] == ["a", "own"]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no question": ({"question": " \n"}, "There is no question. Write what"),
    "a book for a question": (
        {"question": "x" * (MAX_QUESTION_LENGTH + 1)},
        "10,001 characters; 10,000 are allowed.",
    ),
    "an unknown format": (
        {"format": "brawl" * 50},
        f"There is no format {('brawl' * 12)!r}. Formats: {', '.join(FORMATS)}.",
    ),
    "a library of documents": (
        {
            "documents": [{"title": "t", "text": "x" * (MAX_TOTAL_DOCUMENT_LENGTH // 2)}] * 2
            + [{"title": "t", "text": "x"}]
        },
        f"The documents together have 3,000,001 characters; {MAX_TOTAL_DOCUMENT_LENGTH:,} are allowed.",
    ),
    "the caller as a fallback": (
        {"options": {"fallback_models": ["caller"]}},
        "cannot be a fallback for a model",
    ),
    "one debater": ({"debaters": build_debaters(1)}, "A debate has 2 to 26 debaters, not 1."),
    "a crowd": ({"debaters": build_debaters(27)}, "A debate has 2 to 26 debaters, not 27."),
    "a blank name": (named("Ada", "  "), "A debater cannot be called '  ': use one line"),
    "a name of two lines": (named("Ada", "B\nob"), "cannot be called 'B\\nob': use one line"),
    "a name that hides": (named("Ada", "A\u200bda"), "use one line with letters or digits"),
    "no stance": (named("Ada", "Bob", stance=" "), "Ada has no stance: pass {name, stance}"),
    "a judge's name": (named("Ada", "Judge 1"), "called 'Judge 1': another seat has this name."),
    "an officer's name": (named("Ada", '"SYNTHESIZER"'), "another seat has this name."),
    "a name of signs": (named("Ada", "* *"), "use one line with letters or digits"),
    "a name with a full stop": (named("Ada", "Ada."), "Names must be unique, and Ada, Ada. are the same."),
    "no side": (named("Ada", "None"), "called 'None': the word means that no side is right. Name it after"),
    "null": (named("Ada", "\uff2e\uff35\uff2c\uff2c"), "the word means that no side is right. Name it after"),
    "look-alikes": (named("Ada", "n\u043ene"), "mixes Cyrillic and Latin letters, which look alike."),
    "everybody": (named("Ada", "Option all"), "called 'Option all': the word means everybody."),
    "twice the same name": (named("Ada", "Bob", " aDA"), "Names must be unique, and Ada,  aDA are the same."),
    "too many turns": (
        {"format": "handoff", "options": {"limits": {"max_turns": 101}}},
        "options.limits.max_turns=101 is out of range for handoff: 1 to 100, or 0 for its default of 10.",
    ),
    "too many rounds": ({"max_rounds": 5}, "for advocates: 1 to 4, or 0 for its default of 2."),
    "too many rounds for a verdict": ({"format": "verdict", "max_rounds": 21}, "for verdict: 1 to 20"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_invalid_request_is_refused_with_the_next_step(case: str) -> None:
    fields, message = REFUSED[case]
    with pytest.raises(InvalidRequestError) as refused:
        build_setup(**fields)
    assert message in str(refused.value)
    assert isinstance(refused.value, DebateError)


@pytest.mark.parametrize(
    "fields",
    [
        {"debaters": [*TWO, {"name": "C", "stance": 3}]},
        {"debaters": [*TWO, {"model": "scripted"}]},
        named("A" * 41, "B"),
        named("A", "B", stance="s" * 501),
        {"debaters": [{**TWO[0], "colour": "red"}, TWO[1]]},
        {"options": {"judges": {"count": 10}}},
        {"options": {"limits": {"turn_timeout": 0}}},
        {"options": {"speed": 1}},
        {"options": {"quorum": True}},
        {"options": {"output_schema": "{"}},
        {"options": {"tags": ["t" * 61]}},
        {"documents": [{"title": "t", "text": "x" * (MAX_DOCUMENT_LENGTH + 1)}]},
        {"rounds": 3},
        {"question": 7},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_malformed_request_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        DebateRequest.model_validate({"question": "?", **fields})


@pytest.mark.requirement("D15")
@pytest.mark.parametrize(
    "address",
    [
        "https://example.org/a.pdf?b=c",
        " <www.example.org>\n",
        "/home/me/My Documents/the report.pdf",
        "~/plan",
        "/etc/passwd",
        "file:///home/me/plan",
        r"C:\Users\me\report 2.docx",
        r"\\server\share",
        "src/app.py",
        "plan-2.md",
        "../notes of May.md",
        "- https://example.org/a",
        "2. <https://example.org/a>",
        "URL: https://example.org/a",
        "[The report](https://example.org/a 'A report')",
        "https://example.org/a\n\n* [b](www.example.org)\n- src/app.py",
    ],
)
def test_an_address_is_no_text_of_a_document(address: str) -> None:
    for documents in ([{"title": "t", "text": address}], address):
        with pytest.raises(ValidationError, match=r"only where a document lies.*pass what it says as `text`"):
            DebateRequest.model_validate({"question": "?", "documents": documents})


@pytest.mark.requirement("D15")
@pytest.mark.parametrize(
    "text",
    [
        "See https://example.org/a.pdf",
        "https://example.org/a.pdf\nIt says that costs rose.",
        "/etc/hosts is read first, then /etc/resolv.conf",
        "3.11.7",
        "The end.",
        "Node.js",
        "ASP.NET",
        "Yes.No",
        "/approve",
        "/approve the notes in src/app.py",
        "- https://example.org/a: costs rose",
        "https://example.org/a\nNode.js",
    ],
)
def test_a_text_with_an_address_in_it_is_a_text(text: str) -> None:
    request = DebateRequest.model_validate({"question": "?", "documents": [{"title": "t", "text": text}]})
    assert request.documents[0].text == text


@pytest.mark.parametrize("schema", [{"type": "object"}, '{"type": "object"}'])
def test_an_output_schema_is_an_object_or_one_as_json_text(schema: object) -> None:
    request = DebateRequest.model_validate({"question": "?", "options": {"output_schema": schema}})
    assert request.options.output_schema == {"type": "object"}


def test_the_limits_themselves_are_allowed() -> None:
    opened = build_setup(
        question="x" * MAX_QUESTION_LENGTH,
        debaters=build_debaters(26),
        documents=[{"title": "t", "text": "x" * n} for n in (MAX_DOCUMENT_LENGTH, 1_000_000)],
    )
    assert len(opened.debaters) == 26


class TestWarnings:
    def test_an_ordinary_debate_needs_none(self) -> None:
        assert list_setup_warnings(build_setup(), family_count=2) == []

    @pytest.mark.requirement("C12")
    @pytest.mark.parametrize(("name", "rounds"), [("advocates", 3), ("verdict", 4)])
    def test_many_rounds_give_a_warning(self, name: str, rounds: int) -> None:
        assert list_setup_warnings(build_setup(format=name, max_rounds=rounds), family_count=2) == []
        (warning,) = list_setup_warnings(build_setup(format=name, max_rounds=rounds + 1), family_count=2)
        assert warning.startswith(f"{rounds + 1} rounds: above {rounds}, models tend to drift towards")

    @pytest.mark.requirement("A7")
    def test_ten_debaters_give_a_warning(self) -> None:
        assert list_setup_warnings(build_setup(debaters=build_debaters(9)), family_count=2) == []
        (warning,) = list_setup_warnings(build_setup(debaters=build_debaters(10)), family_count=2)
        assert warning.startswith("10 debaters: 10 or more overwhelm a single moderator or judge")

    def test_one_model_family_gives_a_warning(self) -> None:
        (warning,) = list_setup_warnings(build_setup(), family_count=1)
        assert warning.startswith("All debaters are from one model family")
