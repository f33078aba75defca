"""A model's reply, and how data is extracted from it. `interpret` decides what the data means."""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ValidationError, model_validator
from pydantic_core import from_json

from server.debate.facts.answers import Usage
from server.debate.facts.causes import FailureCause
from server.debate.facts.events import Failed
from server.debate.facts.text import clean, collapse_whitespace
from server.debate.prompts.prompt import FunctionCall
from server.debate.rules.calls import Call
from server.debate.state.debate import Debate
from server.debate.state.labels import side_labels

MAX_TURN_LENGTH = 12_000  # characters, about 2,000 words: ten times what debaters are asked for
MAX_FIELD_LENGTH = 4_000  # characters of a field that are stored
MAX_DETAIL_LENGTH = 500  # characters of the detail of a failure
MAX_JSON_CANDIDATES = (
    1_000  # opening braces, from the end of a reply, that are tried as the start of its JSON
)

MAX_SEARCHED_LENGTH = 100_000  # characters at the end of a reply that are searched for JSON
MAX_LOOSE_CANDIDATES = 10  # opening braces, from the end, whose JSON may have comments and trailing commas
MAX_LOOSE_JSON_LENGTH = 10_000  # characters of such JSON
MAX_SECTIONS_LENGTH = 12_000  # characters at the end of a reply that are searched for headings

NOTHING = frozenset(
    {
        *("none", "null", "no", "nobody", "no one", "neither", "nothing", "n/a"),
        *("none of them", "none of the above"),
    }
)
"""Words for an empty field."""

_NOT_JSON = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\Z)|//[^\n]*|/\*.*?(?:\*/|\Z)|,(?=\s*[}\]])', re.DOTALL)
"""Strings, which stay; comments and trailing commas, which become blanks."""

_KEY = re.compile(r'\s*,?\s*("(?:[^"\\]|\\.)*")\s*:\s*')

NUMBER = r"\d{1,7}(?:[.,]\d{1,9})?"
_AMOUNT = re.compile(rf"(?<![\w.,-])({NUMBER})(?:\s?/\s?(\d{{1,7}}))?")
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
    """The reply without the model's thinking before "</think>"; "" if it never stopped thinking."""
    start = text.lstrip()[:20].lower()
    end = text.find("</think>")
    if start.startswith("<think>"):
        return text[end + len("</think>") :].strip() if end >= 0 else ""
    is_answer = end >= 0 and "<think>" not in text[:end]  # the opening mark is in the prompt of some models
    return text[end + len("</think>") :].strip() if is_answer else text


def drop_quotations(text: str) -> str:
    """The reply without lines that quote others ("> …"), so that quotations cannot decide its answer."""
    own_text = "\n".join(line for line in text.splitlines() if not line.startswith(">"))
    return own_text if own_text.strip() else text


def normalize_key(key: str) -> str:
    """A key in its normal form: "nextSpeakers", "Next speakers" and "next_speakers" are equal."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|[\s-]+", "_", key.strip()).lower().removeprefix("final_")


def normalize_keys(value: Any) -> dict[str, Any]:
    """The fields of an object by normalized key; {} for anything else."""
    return {normalize_key(str(key)): field for key, field in value.items()} if isinstance(value, dict) else {}


def clean_text(value: Any) -> str:
    """A text field, cleaned and cut; "" for anything else."""
    return clean(value)[:MAX_FIELD_LENGTH] if isinstance(value, str) else ""


def require_text(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    return text


def take_list(value: Any) -> list[Any]:
    """A list, or anything else as the one row of a list; [] for nothing."""
    return value if isinstance(value, list) else [] if value in (None, "") else [value]


OptionalText = Annotated[str, BeforeValidator(clean_text)]
RequiredText = Annotated[OptionalText, AfterValidator(require_text)]


class LenientModel(BaseModel):
    """A model's answer: extra keys, `null` for nothing, and names in camel case are allowed (C11)."""

    @model_validator(mode="before")
    @classmethod
    def accept_any_spelling(cls, value: Any) -> Any:
        return normalize_keys(value) if isinstance(value, dict) else value


def find_list(text: str, name: str) -> tuple[list[Any], dict[str, Any]]:
    """(the list under this name in the JSON of a reply, all fields of that JSON by normalized key).

    Raises:
        ValueError: there is no such list.
    """
    fields = normalize_keys(find_json(text, (name,)))
    rows = fields.get(name)
    if not isinstance(rows, list):
        raise ValueError(f'"{name}" must be a list, empty if there are none')  # noqa: TRY004  (a bad reply)
    return rows, fields


def find_json(text: str, keys: Sequence[str] = ()) -> Any:
    """The JSON of a reply: the whole text, or the last object in it, so that quoted text cannot decide the answer.

    `keys`: the object must have one of these, if any object does. Comments and trailing commas are allowed.

    Raises:
        ValueError: there is no JSON, or it is malformed.
    """
    for candidate in (text, *(() if keys else reversed(_CODE_FENCE.findall(text)))):
        try:
            value = json.loads(candidate, strict=False)
        except ValueError:
            continue
        if not keys or has_key(value, keys):
            return value
    text = text[-MAX_SEARCHED_LENGTH:]
    starts = [brace.start() for brace in re.finditer("{", text)][: -MAX_JSON_CANDIDATES - 1 : -1]
    objects: list[tuple[dict[str, Any], int]] = []  # (object, where it ends), the last one first
    inside: list[dict[str, Any]] = []
    for number, start in enumerate(starts):
        value, end = decode_object(text, start, is_loose=number < MAX_LOOSE_CANDIDATES)
        if value is not None:
            inside += [row[0] for row in objects if row[1] <= end]
            objects = [*(row for row in objects if row[1] > end), (value, end)]
    if not objects:
        raise ValueError(
            "the JSON of the reply is broken off or malformed" if starts else "the reply holds no JSON object"
        )
    last_object, end = next((candidate for candidate in objects if has_key(candidate[0], keys)), objects[0])
    if any(re.search(rf'"{key}"\s{{0,9}}:', text[end:], re.IGNORECASE) for key in keys):
        raise ValueError("the last JSON of the reply is broken off or malformed")
    return next((value for value in (last_object, *inside) if has_key(value, keys)), last_object)


def has_key(value: Any, keys: Sequence[str]) -> bool:
    return isinstance(value, dict) and not {key.casefold() for key in value}.isdisjoint(keys)


def decode_object(text: str, start: int, *, is_loose: bool) -> tuple[dict[str, Any] | None, int]:
    """(the object that begins there, its end); (None, 0) for none. `is_loose`: comments are allowed."""
    decoder = json.JSONDecoder(strict=False)
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


def begins_with_object(text: str) -> bool:
    return text.lstrip("` \n").removeprefix("json").lstrip().startswith("{")


def close_object(text: str) -> str:
    """A text that was cut within a JSON object, closed after its last complete field; any other text unchanged."""
    start = max(len(text) - MAX_SEARCHED_LENGTH, 0)
    for _ in range(MAX_JSON_CANDIDATES):
        start = text.find("{", start)
        if start < 0:
            return text
        _, end = decode_object(text, start, is_loose=False)
        if not end and (fields := read_complete_fields(text, start)) is not None:
            return text[:start] + json.dumps(fields, ensure_ascii=False) if fields else text
        start = end or start + 1
    return text


def read_complete_fields(text: str, start: int) -> dict[str, Any] | None:
    """The complete fields of an object that the text breaks off in; None if no such object begins there."""
    try:
        from_json(text[start:], allow_partial=True)
    except ValueError:
        return None  # it is malformed, and not only broken off
    fields: dict[str, Any] = {}
    decoder, at, end = json.JSONDecoder(strict=False), start + 1, len(text.rstrip())
    while key := _KEY.match(text, at):
        try:
            value, at = decoder.raw_decode(text, key.end())
        except ValueError:
            break
        if at == end and isinstance(value, int | float) and not isinstance(value, bool):
            break  # more digits may have followed
        fields[json.loads(key[1])] = value
    return fields


def find_turn_object(text: str, reply: Reply) -> Any:
    """The object that a turn is in, of one that was cut what there is; None for a turn in prose.

    Raises:
        ValueError: it begins as an object, and is none.
    """
    try:
        return find_json(text, ("response",))
    except ValueError:
        if not begins_with_object(text):
            return None
        if not reply.cut:
            raise
        return read_cut_object(text)


def read_cut_object(text: str) -> Any:
    """The complete fields of an object that was cut; without any, the text in which it was."""
    closed = close_object(text)
    return from_json(closed[closed.index("{") :], allow_partial="trailing-strings")


def find_sections(text: str, names: Sequence[str]) -> dict[str, str]:
    """The texts under headings such as "1) SUMMARY:", "**Status** =" or "FINAL DECISION:", by name.

    If a name occurs several times, the last one counts. The text before the first heading is under "".
    """
    heading = re.compile(
        rf"(?:^|(?<=[\s*_.;|\u3002\uff1b]))[ \t#*_\-\d.)(|\[\u3010]{{0,20}}(?:final |my |the )?({'|'.join(names)})"
        r"(?:\u3011|[ \t*_\"\]]{0,9}"
        r"(?:[:=|\uff1a]|(?:is|are)(?:[:\uff1a]|[ \t](?-i:(?=[A-Z]{5})))|[-\u2013\u2014](?=\s)|$))",
        re.IGNORECASE | re.MULTILINE,
    )
    parts = heading.split(text[-MAX_SECTIONS_LENGTH:])  # [before, heading, text below it, …]
    sections = {
        name.lower(): below.strip('*_=| \t\n"') for name, below in zip(parts[1::2], parts[2::2], strict=True)
    }
    return {"": parts[0].strip(), **sections} if sections else {}


def find_debaters(debate: Debate, name: str, *, reading: int = 1) -> set[str]:
    """The debaters that a word of a reply may mean: by label, otherwise by stance or name, in any case.

    Models know labels and stances; callers and people who write by hand know names.
    """
    normalized = normalize_name(name)
    labels = side_labels(debate, reading)
    by_name = {d.name for d in debate.setup.debaters if normalized == normalize_name(d.name)}
    by_label = {name for name, label in labels.items() if normalized == label.casefold()}
    by_stance = {d.name for d in debate.setup.debaters if normalized == normalize_name(d.stance)}
    return by_label or by_stance | by_name


def normalize_name(text: str) -> str:
    """A name in its normal form: without case, extra spaces and quotation marks."""
    name = collapse_whitespace(text).strip(".\"'*_ ").casefold()
    return name.removeprefix("position ").removeprefix("option ")


def drop_nothing(text: str) -> str:
    """A text that may be left out; "" if it says "none"."""
    return "" if normalize_name(text) in NOTHING else text


def parse_amount(value: Any) -> Fraction | None:
    """An exact number of zero or more: 70, "70 %", "0.7", "7/10"; None for anything else."""
    if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if isinstance(value, int | float):
        return Fraction(Decimal(str(value))) if 0 <= value < 10**7 else None
    number = _AMOUNT.search(value) if isinstance(value, str) else None
    if not number:
        return None
    amount = Fraction(number[1].replace(",", "."))
    return amount / int(number[2]) if number[2] and int(number[2]) else amount


def read_percent(value: Any) -> int | None:
    """Percent from 80, "80 %", 0.8 or "1.0"; None if it is no number."""
    amount = parse_amount(value)
    if amount is None:
        return None
    is_share = "%" not in str(value) and (amount < 1 or (amount == 1 and "1.0" in str(value)))
    return round(min(amount * 100 if is_share else amount, Fraction(100)))


def describe_error(error: Exception, *, cut: bool) -> str:
    """Why a reply could not be read, in words that help its author."""
    problem = str(error) or type(error).__name__
    if isinstance(error, RecursionError):
        problem = "the JSON of the reply is nested too deeply"
    if isinstance(error, ValidationError):
        first_error = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first_error["loc"]) or "the answer"
        problem = f"{where}: {first_error['msg']}"
    return f"{problem} (it was stopped at its token limit)" if cut else problem


def shorten_turn(text: str) -> str:
    """The text, cut after the last complete sentence within `MAX_TURN_LENGTH`."""
    if len(text) <= MAX_TURN_LENGTH:
        return text
    head = text[:MAX_TURN_LENGTH]
    end = max(head.rfind(mark) for mark in (". ", ".\n", "! ", "? ", "。"))
    return head[: end + 1] if end > MAX_TURN_LENGTH // 2 else head


def parse_text(text: str, reply: Reply) -> dict[str, Any]:
    """The fields of a turn or remark in prose. Raises ValueError if it is empty."""
    if not text:
        raise ValueError("the turn itself is empty")
    turn_text = shorten_turn(text)
    return {"text": turn_text, "cut": reply.cut or turn_text != text}
