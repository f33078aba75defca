"""Reads replies in the answer format, as the fields of the facts that they become.

The reading is tolerant: extra keys, a number as text, a list in place of a text. If a fact lacks something necessary,
the model is asked once more. Words that a reply claims to copy are searched in the texts that its author read.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_args

from server.debate.answer.mentions import drop_citations, drop_ids, store_mentions, tell_mentions
from server.debate.answer.panel import Panel, name_answer
from server.debate.answer.prompts import list_read_names, order_reviews
from server.debate.answer.report import LEAST_SHARE, measure_kept
from server.debate.answer.texts import list_opposed, show_answer
from server.debate.documents.folding import fold
from server.debate.documents.marks import drop_marks
from server.debate.facts.advice import Branch, Correction, Difference, Fault
from server.debate.facts.text import clean
from server.debate.replies.extract import (
    begins_with_object,
    drop_nothing,
    find_json,
    normalize_keys,
    read_percent,
    take_list,
)
from server.debate.state.labels import find_labels

MAX_FIELD_LENGTH = 6_000
"""Characters of a field that are stored."""

MOST_ROWS = 12
"""Rows of a list that are stored."""

EVEN_ODDS = 50
"""The probability of an answer without one."""

ADVICE_KEYS = ("because", "value")
OPINION_KEYS = (*ADVICE_KEYS, "premise", "assumed", "changes_if", "next")

MOST_TITLE_WORDS = 8

_HEADING = re.compile(r"\A#+ .*\n+")
_FENCED = re.compile(r"\A```\w*\n(.*)\n```\Z", re.DOTALL)
_BLANK_LINE = re.compile(r"\n[ \t]+\n")
_COLONS, _ENDS = ":\uff1a", ".!?\u3002\uff01\uff1f"

Show = Callable[[str], str]


def read_answer(text: str) -> dict[str, Any]:
    """The fields of an answer; prose is its recommendation.

    Raises:
        ValueError: it is neither; for example the beginning of an object, or one without a recommendation.
    """
    try:
        fields = find_fields(text, "recommendation")
    except ValueError:
        if begins_with_object(text) or not drop_nothing(text.strip("[]")):
            raise
        return {"recommendation": text[:MAX_FIELD_LENGTH], "probability": EVEN_ODDS}
    return read_advice(fields, OPINION_KEYS, clean)


def read_review(panel: Panel, seats: Mapping[str, str], text: str, *, takes_prose: bool) -> dict[str, Any]:
    """The fields of a review. `seats`: the author of the answer under each label.

    Raises:
        ValueError: there is no advice, or it does not say which answers it follows.
    """
    names = {label: name_answer(panel, seat) for label, seat in seats.items()}
    answer_texts = [show_answer(panel.answers[seat]) for seat in seats.values()]

    def show(words: str) -> str:
        return store_mentions(words, names)[:MAX_FIELD_LENGTH]

    fields = find_advice_fields(text, takes_prose=takes_prose, in_prose={"follows": []})
    if "follows" not in fields:
        raise ValueError(
            '"follows" is missing: list the labels of the answers whose advice yours is, or none'
        )
    errors, unfound = [], 0
    for row in list_rows(fields.get("errors")):
        words = find_words(read_text(row.get("words")), answer_texts)
        unfound += not words
        right = show(read_text(row.get("right")))
        if right:
            answers = find_labels(row.get("answers"), seats)
            errors.append(
                Correction(answers=answers, words=words, right=right, matters=read_flag(row.get("matters")))
            )
    quotes = [find_words(words, answer_texts) for words in list_texts(fields.get("keep"))]
    own = [read_text(fields.get(key)) for key in ("recommendation", "value")]
    written = read_written(read_text(fields.get("answer")), [*answer_texts, *own])
    return read_advice(fields, ADVICE_KEYS, show) | {
        "errors": tuple(errors),
        "missing": tuple(map(show, list_texts(fields.get("missing")))),
        "best": next(iter(find_labels(fields.get("best"), seats)), ""),
        "keep": tuple(filter(None, quotes)),
        "groups": read_groups(fields.get("groups"), seats),
        "differ_in": show(read_text(fields.get("differ_in"))),
        "follows": find_labels(fields["follows"], seats),
        "against": show(read_text(fields.get("against"))),
        "unfound": unfound + quotes.count(""),
        "text": tell_mentions(panel, store_mentions(drop_citations(written, seats), names)),
    }


def read_exchange(panel: Panel, seat: str, text: str, *, takes_prose: bool) -> dict[str, Any]:
    """The fields of a reviewer's exchange. `panel`: as it was before it.

    Raises:
        ValueError: there is no advice.
    """
    ids = {label: source for source, label in list_read_names(panel, seat).items()}

    def show(words: str) -> str:
        return store_mentions(words, ids)[:MAX_FIELD_LENGTH]

    fields = find_advice_fields(text, takes_prose=takes_prose, in_prose={})
    kind, moved_by = read_text(fields.get("kind")).casefold(), show(read_text(fields.get("moved_by")))
    return {
        "difference": kind if kind in get_args(Difference) else "",
        "reply": show(read_text(fields.get("reply"))),
        "decides": show(read_text(fields.get("decides"))),
        "branches": read_branches(fields.get("branches"), show),
        "recommendation": show(require_words(fields, "recommendation")),
        "same_as": find_labels(fields.get("same_as"), order_reviews(panel, seat)),
        "moved": bool(moved_by),
        "moved_by": find_words(moved_by, list_opposed(panel, seat).values()),
        "value": show(read_text(fields.get("value"))),
        "next": show(read_text(fields.get("next"))),
        "against": show(read_text(fields.get("against"))),
        "probability": read_probability(fields),
    }


def read_report(panel: Panel, text: str) -> dict[str, Any]:
    """The text of a report, without ids and a title, its paragraphs apart.

    Raises:
        ValueError: it is JSON, or has some.
    """
    if begins_with_object(text) or has_advice_object(text):
        raise ValueError("plain text was asked for, not JSON")
    advised = [*panel.answers.values(), *(panel.find_advice(seat) for seat in panel.readers)]
    return {"text": drop_ids(panel, tidy(text, [one.recommendation for one in advised]))[:MAX_FIELD_LENGTH]}


def read_written(text: str, advised: Iterable[str]) -> str:
    """The answer in a review, as people read it; "" for JSON, and for what is too long to be whole."""
    if "\n" not in text:
        text = text.replace("\\n", "\n")
    return "" if begins_with_object(text) or len(text) >= MAX_FIELD_LENGTH else tidy(text, advised)


def tidy(text: str, advised: Iterable[str]) -> str:
    """A text that people read, without a fence and a title, its paragraphs apart."""
    plain = _FENCED.sub(r"\1", text.strip())
    return drop_title(_BLANK_LINE.sub("\n\n", _HEADING.sub("", plain)), advised)


def has_advice_object(text: str) -> bool:
    try:
        return bool(find_fields(text, "recommendation"))
    except ValueError:
        return False


def drop_title(text: str, advised: Iterable[str]) -> str:
    """A report without a first paragraph such as "Verdict" or "Here is the answer:".

    It is short, and ends with a colon, or is no sentence and has hardly a word of what is advised: "Keep it" stays.
    """
    first, _, rest = text.partition("\n\n")
    end = first.rstrip(" *_")[-1:]
    share = measure_kept("\n".join(advised), first)
    is_title = end in _COLONS or (end not in _ENDS and share < LEAST_SHARE)
    return rest if rest and is_title and len(first.split()) <= MOST_TITLE_WORDS else text


def read_check(text: str, report: str) -> dict[str, Any]:
    """The fields of the check of a report. Raises ValueError if it says nothing about faults."""
    fields = find_fields(text, "faults", "agrees")
    if not (fields.get("faults") or isinstance(fields.get("agrees", True), bool | str)):
        raise ValueError('"agrees" has to be true or false')
    faults = []
    for row in list_rows(fields.get("faults")):
        words, right = find_words(read_text(row.get("words")), [report]), read_text(row.get("right"))
        if words and right:
            faults.append(Fault(words=words, right=right, matters=read_flag(row.get("matters"))))
    return {"faults": tuple(faults), "agrees": read_flag(fields.get("agrees", not faults))}


def find_fields(text: str, *keys: str) -> dict[str, Any]:
    """The fields of the last JSON object of a reply. Raises ValueError if it has none of these keys."""
    fields = normalize_keys(find_json(text, keys))
    if not any(key in fields for key in keys):
        raise ValueError(f'the JSON of the reply has no "{keys[0]}"')
    return fields


def find_advice_fields(text: str, *, takes_prose: bool, in_prose: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a reply; prose of a caller or a person is its recommendation, with `in_prose` for the rest.

    Raises:
        ValueError: it is prose, and none is taken.
    """
    try:
        return find_fields(text, "recommendation")
    except ValueError:
        if not takes_prose:
            raise
        return {"recommendation": text, **in_prose}


def read_advice(fields: Mapping[str, Any], keys: Iterable[str], show: Show) -> dict[str, Any]:
    advice: dict[str, Any] = {key: show(read_text(fields.get(key))) for key in keys}
    advice["recommendation"] = show(require_words(fields, "recommendation"))
    return advice | {"probability": read_probability(fields)}


def require_words(fields: Mapping[str, Any], key: str) -> str:
    text = read_words(fields.get(key))
    if not text:
        raise ValueError(f'"{key}" is empty')
    return text


def read_text(value: Any) -> str:
    """A text that may be left out, or the lines of a list; "" for what says "none"."""
    return read_words([row for row in take_list(value) if drop_nothing(read_words(row))])


def read_words(value: Any) -> str:
    """A text, a number, or the lines of a list; "" for anything else."""
    if isinstance(value, list):
        return "\n".join(filter(None, map(read_words, value)))[:MAX_FIELD_LENGTH]
    is_text = isinstance(value, str | int | float) and not isinstance(value, bool)
    return clean(str(value))[:MAX_FIELD_LENGTH] if is_text else ""


def list_texts(value: Any) -> list[str]:
    """The texts of a list, or a single text; for objects, their words."""
    rows = take_list(value)
    texts = (row.get("text") or row.get("words") if isinstance(row, dict) else row for row in rows)
    return [*filter(None, map(read_text, texts))][:MOST_ROWS]


def list_rows(value: Any) -> list[dict[str, Any]]:
    """The objects of a list, or a single one."""
    return [normalize_keys(row) for row in take_list(value) if isinstance(row, dict)][:MOST_ROWS]


def read_flag(value: Any) -> bool:
    return str(value).strip().casefold() in ("true", "yes", "1")


def read_probability(fields: Mapping[str, Any]) -> int:
    percent = read_percent(fields.get("probability"))
    return EVEN_ODDS if percent is None else percent


def read_groups(value: Any, seats: Mapping[str, str]) -> tuple[tuple[str, ...], ...]:
    """Groups of equal answers. The first mention of an answer counts; one without a mention is a group of its own."""
    rows = [*value.values()] if isinstance(value, dict) else take_list(value)
    ungrouped, groups = [*seats.values()], []
    for row in rows:
        if group := tuple(seat for seat in find_labels(row, seats) if seat in ungrouped):
            groups.append(group)
            ungrouped = [seat for seat in ungrouped if seat not in group]
    return (*groups, *((seat,) for seat in ungrouped))


NO_CASE = ("n/a", "null")


def read_branches(value: Any, show: Show) -> tuple[Branch, ...]:
    rows = [row for row in list_rows(value) if read_text(row.get("do"))]
    return tuple(
        Branch(
            condition=show(f"If {read_case(row.get('if'), is_alone=len(rows) == 1)}")
            .removeprefix("If")
            .lstrip(),
            advice=show(read_text(row["do"])),
        )
        for row in rows
    )


def read_case(value: Any, *, is_alone: bool) -> str:
    """Beside another case "none" may be one, of how many or of which; alone it says that there is no case."""
    case = read_text(value) if is_alone else read_words(value)
    return "" if case.casefold() in NO_CASE else case


def find_words(words: str, texts: Iterable[str]) -> str:
    """The words, if one of the texts contains them, apart from typography, case and our marks; otherwise ""."""
    normalized = fold(drop_marks(words)).casefold().strip(" \"'.…>")
    return words if normalized and any(normalized in fold(text).casefold() for text in texts) else ""
