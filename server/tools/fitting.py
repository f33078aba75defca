"""Fits results to their size limits: long texts are shortened first, then lists; the result says what is left out."""

import json
import re
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, Field

from server.debate.views.awaited import TURN_HEADING

LITERAL_FIELDS = frozenset(
    {
        *("debate_id", "status", "next", "transcript_uri", "left_out", "cursor", "view", "phase"),
        "signed_by",
        *("debater", "agent", "speaker", "to", "task", "forked_from", "mirror_of"),
    }
)
"""Fields that are never shortened: ids, names, keys, and calls to make."""

WHOLE_LIST = "debates"
"""A list that comes in pages: an entry left out of one page would be on no page."""

TEXT_WEIGHTS = {
    "question": 4,
    "headline": 8,
    "verdict": 8,
    "reasoning": 8,
    "reason": 4,
    "effect": 8,
    "prompt": 8,
    "rules": 16,
    "text": 4,
    "cost": 8,
    "estimate": 8,
    "warnings": 8,
}
"""Factors by which these texts may stay longer than others."""

MIN_TASK_LENGTH, MIN_ASKED_LENGTH = 1_500, 2_000
"""Characters of an awaited turn's prompt that stay: of its task, and of question and task together."""

MIN_TEXT_LENGTH = 4
LISTED_TEXT_LENGTH = 60
"""Lists are cut before texts are shortened below this."""


class Bounded(BaseModel):
    """A result that can leave out parts, and says which, and how to get them."""

    PLACES: ClassVar[dict[str, str]] = {}
    """By field, the call that returns it in full, with fields of the result in braces."""

    left_out: list[str] = []
    taken: Annotated[
        str, Field(description="Arguments that have other names here, and what they were taken for")
    ] = ""

    def describe_left_out(self, shortened: list[str]) -> list[str]:
        places: dict[str, list[str]] = {}
        for name in shortened:
            places.setdefault(self.PLACES.get(name, ""), []).append(name)
        return [
            f"Shortened here: {', '.join(names)}."
            + (f" Whole: {place.format(**dict(self))}." if place else "")
            for place, names in places.items()
        ]


R = TypeVar("R", bound=Bounded)


def count_json(result: BaseModel) -> int:
    """Characters of the result as JSON with everything but ASCII escaped: no encoding of it is longer."""
    return len(json.dumps(result.model_dump(mode="json", exclude_defaults=True)))


def fit(result: R, measure: Callable[[R], int], limit: int) -> R:
    """The result, shortened as far as needed for `measure` to stay below the limit."""
    if measure(result) < limit:
        return result
    data = result.model_dump()

    def reduce(length: int, count: int) -> R:
        reduced = {name: shorten_value(name, value, length, count) for name, value in data.items()}
        shortened = [name for name, value in data.items() if reduced[name] != value]
        left_out = [*result.left_out, *result.describe_left_out(shortened)]
        return type(result).model_validate({**reduced, "left_out": left_out})

    def is_within(length: int, count: int) -> bool:
        return measure(reduce(length, count)) < limit

    most_entries = measure_longest_list(data)
    if is_within(LISTED_TEXT_LENGTH, most_entries):
        length = search_highest(lambda n: is_within(n, most_entries), LISTED_TEXT_LENGTH, limit)
        return reduce(length, most_entries)
    if is_within(LISTED_TEXT_LENGTH, 1):
        count = search_highest(lambda n: is_within(LISTED_TEXT_LENGTH, n), 1, most_entries)
        return reduce(LISTED_TEXT_LENGTH, count)
    return reduce(search_highest(lambda n: is_within(n, 1), MIN_TEXT_LENGTH, LISTED_TEXT_LENGTH), 1)


def search_highest(is_good: Callable[[int], bool], low: int, high: int) -> int:
    """Binary search: the highest good number from `low`, which is good, to below `high`."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_good(middle) else (low, middle)
    return low


def measure_longest_list(value: Any) -> int:
    if isinstance(value, dict):
        return max(map(measure_longest_list, value.values()), default=0)
    if isinstance(value, list):
        return max(len(value), max(map(measure_longest_list, value), default=0))
    return 0


def shorten_value(name: str, value: Any, length: int, count: int) -> Any:
    """The value of a field with texts of about this length, and lists of at most this count."""
    if isinstance(value, dict):
        return {key: shorten_value(key, part, length, count) for key, part in value.items()}
    if isinstance(value, list) and name not in LITERAL_FIELDS:
        entries = value if name == WHOLE_LIST else value[:count]
        return [shorten_value(name, part, length, count) for part in entries]
    if not isinstance(value, str) or name in LITERAL_FIELDS:
        return value
    return shorten_text(name, value, length * TEXT_WEIGHTS.get(name, 1))


def shorten_text(name: str, text: str, length: int) -> str:
    if count_escaped(text) <= length:
        return text
    if name == "deliverable" and text.lstrip()[:1] in ("{", "["):
        return ""  # a part of JSON is useless
    if name == "prompt":
        return shorten_prompt(text, length)
    return cut_to_escaped(text, length).rstrip() + "…"


def shorten_prompt(text: str, length: int) -> str:
    """Cut the record between the question at the beginning and the task at the end, which are needed as they are."""
    start, end = max(text.find("\n\n# "), 0), text.rfind(f"\n\n{TURN_HEADING}\n")
    question, record, task = text[:start], text[start:end], text[end:]
    if (limit := max(MIN_TASK_LENGTH, length)) < count_escaped(task):
        task = cut_to_escaped(task, limit // 2) + "…" + cut_to_escaped(task[::-1], limit // 2)[::-1]
    question = cut_to_escaped(question, max(MIN_ASKED_LENGTH - count_escaped(task), length))
    record = cut_to_escaped(record[::-1], length)[::-1].partition("\n")[2]
    left_out = len(text) - len(question) - len(record) - len(task)
    note = f"[{left_out:,} characters are left out here: read_debate(view='prompt') has them.]"
    return "\n\n".join(filter(None, (question, note, record.strip(), task.strip())))


_ESCAPES = re.compile(r"(?:[^\\]+|\\[^u]|\\u[0-9a-f]{4})*")
"""Characters of JSON text without quotation marks, each escape whole."""


def count_escaped(text: str) -> int:
    """Characters of the text in JSON with everything but ASCII escaped."""
    return len(json.dumps(text)) - 2


def cut_to_escaped(text: str, length: int) -> str:
    """The longest beginning of the text that has at most `length` characters when escaped."""
    escaped = json.dumps(text[: max(length, 0)])[1:-1]
    if len(escaped) <= length:
        return text[: max(length, 0)]
    whole = _ESCAPES.match(escaped, 0, max(length, 0))
    assert whole  # it may be empty
    beginning = text[: len(json.loads(f'"{whole[0]}"'))]
    # The cut may fall between the halves of a surrogate pair.
    return beginning if count_escaped(beginning) <= length else beginning[:-1]
