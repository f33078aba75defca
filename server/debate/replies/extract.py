"""A model's reply, and how data is found in it. `interpret` decides what the data means."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import ValidationError

from server.debate.facts.answers import Usage
from server.debate.facts.causes import FailureCause
from server.debate.facts.events import Failed
from server.debate.facts.text import clean, collapse_whitespace
from server.debate.prompts.tool_schemas import FunctionCall
from server.debate.rules.calls import Call
from server.debate.state.debate import Debate
from server.debate.state.labels import side_labels

MAX_TURN_LENGTH = 12_000  # characters, about 2,000 words: ten times what a debater is asked for
MAX_DETAIL_LENGTH = 500  # characters of the detail of a failure
MAX_JSON_CANDIDATES = 1_000  # opening braces of a reply that are tried as the start of its JSON, from the end

MAX_SEARCHED_LENGTH = 100_000  # characters at the end of a reply in which JSON is looked for
MAX_LOOSE_CANDIDATES = 10  # opening braces, from the end, whose JSON may have comments and trailing commas
MAX_LOOSE_JSON_LENGTH = 10_000  # characters of such JSON
MAX_SECTIONS_LENGTH = 12_000  # characters at the end of a reply in which headings are looked for

_NOT_JSON = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\Z)|//[^\n]*|/\*.*?(?:\*/|\Z)|,(?=\s*[}\]])', re.DOTALL)
"""Strings, to be left alone; comments and trailing commas, to be blanked."""

_CODE_FENCE = re.compile(r"```(?:json)?(.*?)```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model returned."""

    text: str
    usage: Usage
    cut: bool = False  # the model was stopped by its token limit
    informative: bool = True  # False: the model is too small for its judgments to mean anything
    function_calls: tuple[FunctionCall, ...] = ()


def build_failure(
    call: Call, cause: FailureCause, detail: str, usage: Usage | None = None, *, attempts: int = 1
) -> Failed:
    """The event for a call that brought no usable answer. An unknown `cause` becomes "crashed"."""
    return Failed(
        seat=call.seat,
        round=call.round,
        slot_index=call.slot_index,
        seen=call.seen,
        cause=cause if cause in get_args(FailureCause) else "crashed",
        detail=collapse_whitespace(clean(detail))[:MAX_DETAIL_LENGTH],
        usage=usage,
        attempts=attempts,
        model=call.model,
    )


def drop_thoughts(text: str) -> str:
    """The reply without what a model thought aloud before it, up to "</think>"; "" where it never stopped thinking."""
    start = text.lstrip()[:20].lower()
    end = text.find("</think>")
    if start.startswith("<think>"):
        return text[end + len("</think>") :].strip() if end >= 0 else ""
    is_answer = end >= 0 and "<think>" not in text[:end]  # the opening mark is in the prompt of some models
    return text[end + len("</think>") :].strip() if is_answer else text


def drop_quotations(text: str) -> str:
    """The reply without the lines that quote others ("> …"), so that they cannot set its answer."""
    own = "\n".join(line for line in text.splitlines() if not line.startswith(">"))
    return own if own.strip() else text


def normalize_key(key: str) -> str:
    """A key as it is compared: "nextSpeakers", "Next speakers" and "next_speakers" are one."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|[\s-]+", "_", key.strip()).lower().removeprefix("final_")


def normalize_keys(value: Any) -> dict[str, Any]:
    """The fields of an object by their keys as they are compared; {} for what is no object."""
    return {normalize_key(str(key)): field for key, field in value.items()} if isinstance(value, dict) else {}


def find_list(text: str, name: str) -> tuple[list[Any], dict[str, Any]]:
    """(the list under this name in the JSON of a reply, all fields of that JSON by normalized key).

    Raises:
        ValueError: there is no such list.
    """
    fields = normalize_keys(find_json(text, (name,)))
    given = fields.get(name)
    if not isinstance(given, list):
        raise ValueError(f'"{name}" must be a list, empty if there are none')  # noqa: TRY004  (a bad reply)
    return given, fields


def find_json(text: str, keys: Sequence[str] = ()) -> Any:
    """The JSON of a reply: the whole text, else the last object in it, so that quoted text cannot set the answer.

    `keys`: the object has to hold one of these, if any object does. Comments and trailing commas are forgiven.

    Raises:
        ValueError: there is no JSON, or it is malformed.
    """
    for candidate in (text, *(() if keys else reversed(_CODE_FENCE.findall(text)))):
        try:
            value = json.loads(candidate)
        except ValueError:
            continue
        if not keys or has_key(value, keys):
            return value
    text = text[-MAX_SEARCHED_LENGTH:]
    starts = find_last_braces(text)
    found: list[tuple[dict[str, Any], int]] = []  # (object, where it ends), the last one first
    inside: list[dict[str, Any]] = []
    for number, start in enumerate(starts):
        value, end = decode_object(text, start, is_loose=number < MAX_LOOSE_CANDIDATES)
        if value is not None:
            inside += [inner for inner, inner_end in found if inner_end <= end]
            found = [*((other, other_end) for other, other_end in found if other_end > end), (value, end)]
    if not found:
        raise ValueError(
            "the JSON of the reply is broken off or malformed" if starts else "the reply holds no JSON object"
        )
    chosen, end = next((one for one in found if has_key(one[0], keys)), found[0])
    if any(re.search(rf'"{key}"\s{{0,9}}:', text[end:], re.IGNORECASE) for key in keys):
        raise ValueError("the last JSON of the reply is broken off or malformed")
    return chosen if has_key(chosen, keys) else next((one for one in inside if has_key(one, keys)), chosen)


def find_last_braces(text: str) -> list[int]:
    """Where the last objects of a text may begin, the last one first."""
    starts: list[int] = []
    start = text.rfind("{")
    while start >= 0 and len(starts) < MAX_JSON_CANDIDATES:
        starts.append(start)
        start = text.rfind("{", 0, start)
    return starts


def has_key(value: Any, keys: Sequence[str]) -> bool:
    return isinstance(value, dict) and not {key.casefold() for key in value}.isdisjoint(keys)


def decode_object(text: str, start: int, *, is_loose: bool) -> tuple[dict[str, Any] | None, int]:
    """(the object that begins there, where it ends); (None, 0) for none. `is_loose`: comments are forgiven."""
    decoder = json.JSONDecoder()
    try:
        return decoder.raw_decode(text, start)
    except ValueError:
        if not is_loose:
            return None, 0
    source = text[start : start + MAX_LOOSE_JSON_LENGTH]
    loose = _NOT_JSON.sub(lambda part: part[0] if part[0][0] == '"' else " " * len(part[0]), source)
    try:
        value, length = decoder.raw_decode(loose)
    except ValueError:
        return None, 0
    return value, start + length


def find_sections(text: str, names: Sequence[str]) -> dict[str, str]:
    """What stands under headings such as "1) SUMMARY:", "**Status** =" or "FINAL DECISION:", by their names.

    Of several with one name the last counts. What stands before the first heading is under "".
    """
    heading = re.compile(
        rf"(?:^|(?<=[\s*_.;|\u3002\uff1b]))[ \t#*_\-\d.)(|\[\u3010]{{0,20}}(?:final |my |the )?({'|'.join(names)})"
        r"(?:\u3011|[ \t*_\"\]]{0,9}"
        r"(?:[:=|\uff1a]|(?:is|are)(?:[:\uff1a]|[ \t](?-i:(?=[A-Z]{5})))|[-\u2013\u2014](?=\s)|$))",
        re.IGNORECASE | re.MULTILINE,
    )
    parts = heading.split(text[-MAX_SECTIONS_LENGTH:])  # [before, heading, text below it, …]
    found = {
        name.lower(): below.strip('*_=| \t\n"') for name, below in zip(parts[1::2], parts[2::2], strict=True)
    }
    return {"": parts[0].strip(), **found} if found else {}


def find_debaters(debate: Debate, name: str, *, prefer_names: bool = False, reading: int = 1) -> set[str]:
    """The names of the debaters that this may mean: by label, else by stance or name, in any case.

    `prefer_names`: a debater whose name looks like a label comes before the label.
    """
    wanted = normalize_name(name)
    labels = side_labels(debate, reading)
    by_name = {d.name for d in debate.setup.debaters if wanted == normalize_name(d.name)}
    by_label = {name for name, label in labels.items() if wanted == label.casefold()}
    by_stance = {d.name for d in debate.setup.debaters if wanted == normalize_name(d.stance)}
    return by_name if by_name and prefer_names else by_label or by_stance | by_name


def normalize_name(text: str) -> str:
    """A name as it is compared: without case, extra spaces and quotation marks."""
    return (
        collapse_whitespace(text)
        .strip(".\"'*_ ")
        .casefold()
        .removeprefix("position ")
        .removeprefix("option ")
    )


def describe_error(error: Exception, *, cut: bool) -> str:
    """Why a reply could not be read, in words that its author can act on."""
    problem = str(error) or type(error).__name__
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the answer"
        problem = f"{where}: {first['msg']}"
    return f"{problem} (it was stopped at its token limit)" if cut else problem


def shorten_turn(text: str) -> str:
    """The text, cut after the last whole sentence within `MAX_TURN_LENGTH`."""
    if len(text) <= MAX_TURN_LENGTH:
        return text
    head = text[:MAX_TURN_LENGTH]
    end = max(head.rfind(mark) for mark in (". ", ".\n", "! ", "? ", "。"))
    return head[: end + 1] if end > MAX_TURN_LENGTH // 2 else head
