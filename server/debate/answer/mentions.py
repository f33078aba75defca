"""Answers and reviews that a text mentions: by labels, by ids, and in words.

A seat writes the labels under which it read the others. The record has an id in brackets in their place, "[A1]", which
no ordinary word is taken for ("DeepSeek R1", "A4 paper"). Other seats read it as their own label, the writer as the id.
People know neither, and read words.
"""

import re
from collections.abc import Collection, Mapping

from server.debate.answer.panel import CHECK, Panel, list_answer_ids, list_reviewer_ids
from server.debate.answer.texts import list_written
from server.debate.facts.advice import MINE
from server.debate.state.labels import replace_labels

_MENTION = re.compile(r"\[([ARE]\d+|C1)\]")
_IN_BRACKETS = re.compile(r"\[(\[(?:[ARE]\d+|C1)\])\]")
_BEGINNING = re.compile(r"(?:\A|[.!?:]\s+|\n[-*•\s]*)\Z")
_OPENING, _CLOSING, _SEPARATORS = "(\\[\uff08", ")\\]\uff09", ",;&/\u3001\uff0c"
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


def store_mentions(text: str, ids: Mapping[str, str]) -> str:
    """A reply with ids in place of the labels that its author read. `ids`: by label."""
    stored_text = replace_labels(text, {label: f"[{source}]" for label, source in ids.items()})
    return _IN_BRACKETS.sub(r"\1", stored_text)


def show_mentions(text: str, names: Mapping[str, str]) -> str:
    """A stored text as a seat reads it. `names`: by id; an id without one loses its brackets."""
    return _MENTION.sub(lambda found: names.get(found[1], found[1]), text)


def tell_mentions(panel: Panel, text: str) -> str:
    """A stored text as people read it."""

    def tell(found: re.Match[str]) -> str:
        words = describe_source(panel, found[1])
        begins = _BEGINNING.search(text, 0, found.start()) is not None
        return words[:1].upper() + words[1:] if begins else words

    return _MENTION.sub(tell, text)


def describe_source(panel: Panel, source: str) -> str:
    """An id in words; what there is not, as it is."""
    if source == CHECK:
        return "the check"
    if seat := list_answer_ids(panel).get(source):
        return "your answer" if seat == MINE else f"the {number_place(panel.advisors.index(seat))} answer"
    if not (seat := list_reviewer_ids(panel).get(source)):
        return source
    is_only = len(panel.reviewers) == 1
    return "the reviewer" if is_only else f"the {number_place(panel.reviewers.index(seat))} reviewer"


def number_place(index: int) -> str:
    return _ORDINALS[index] if index < len(_ORDINALS) else f"{index + 1}th"


def drop_ids(panel: Panel, text: str) -> str:
    """A report without the ids that its writer read: citations go, and other mentions become words.

    An id that stands in what was asked or answered, as "R1" in "DeepSeek R1", is a word of the matter, and stays.
    """
    ids = (*list_answer_ids(panel), *list_reviewer_ids(panel), CHECK)
    known = [source for source in ids if not is_word(panel, source)]
    if not known:
        return text
    either, plain = join_names(known), drop_citations(text, known)
    return tell_mentions(panel, re.sub(rf"\[?(?<![A-Za-z0-9])({either})(?!\d)\]?", r"[\1]", plain))


def drop_citations(text: str, names: Collection[str]) -> str:
    """A text without ids or labels in brackets, such as "(A1)" or "[K7, Q31]"."""
    either = join_names(names)
    listed = rf"(?:{either})(?:\s*(?:[{_SEPARATORS}]|and)\s*(?:{either}))*"
    return re.sub(rf"\s*[{_OPENING}]\s*{listed}\s*[{_CLOSING}]", "", text)


def join_names(names: Collection[str]) -> str:
    return "|".join(sorted(names, key=len, reverse=True))


def is_word(panel: Panel, source: str) -> bool:
    """Whether an id is also a word of the matter: somebody wrote it who knew no ids."""
    pattern = re.compile(rf"(?<![A-Za-z0-9]){source}(?!\d)")
    return any(pattern.search(_MENTION.sub("", text)) for text in list_written(panel))
