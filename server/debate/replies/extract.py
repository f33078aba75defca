"""A model's reply, and how data is found in it. `interpret` decides what the data means."""

import json
import re
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import ValidationError

from server.debate.facts.events import Failed, FailureCause, Usage
from server.debate.facts.state import Debate
from server.debate.facts.text import clean, collapse_whitespace
from server.debate.prompts.tool_schemas import FunctionCall
from server.debate.prompts.transcript import lettered_debaters
from server.debate.rules.decide import Call

MAX_TURN_LENGTH = 12_000  # characters, about 2,000 words: ten times what a debater is asked for
MAX_DETAIL_LENGTH = 500  # characters of the detail of a failure
MAX_JSON_CANDIDATES = 50  # opening braces of a reply that are tried as the start of its JSON

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


def find_json(text: str) -> Any:
    """The JSON in a reply: the whole text, a code fence, or the first object amid prose.

    Raises:
        ValueError: there is no JSON, or it is malformed.
    """
    fenced = _CODE_FENCE.search(text)
    for candidate in (text, fenced[1] if fenced else ""):
        try:
            return json.loads(candidate)
        except ValueError:
            continue
    braces = [match.start() for match in re.finditer("{", text)]
    for start in braces[:MAX_JSON_CANDIDATES]:  # prose before the answer may hold braces too
        try:
            return json.JSONDecoder().raw_decode(text, start)[0]
        except ValueError:
            continue
    problem = (
        "the JSON of the reply is broken off or malformed" if braces else "the reply holds no JSON object"
    )
    raise ValueError(problem)


def find_debaters(debate: Debate, name: str, *, prefer_names: bool = False) -> set[str]:
    """The names of the debaters that this may mean: by letter, else by stance or name, in any case.

    `prefer_names`: a debater whose name is "B" comes before the letter B.
    """
    wanted = normalize_name(name)
    by_name = {d.name for d in debate.setup.debaters if wanted == normalize_name(d.name)}
    by_letter = {d.name for letter, d in lettered_debaters(debate) if wanted == normalize_name(letter)}
    by_stance = {d.name for d in debate.setup.debaters if wanted == normalize_name(d.stance)}
    return by_name if by_name and prefer_names else by_letter or by_stance | by_name


def normalize_name(text: str) -> str:
    """A name as it is compared: without case, extra spaces and quotation marks."""
    return collapse_whitespace(text).strip(".\"'*_ ").casefold().removeprefix("position ")


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
