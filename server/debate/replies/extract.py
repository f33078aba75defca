"""A model's reply, and how data is found in it. What it means is up to `answers`."""

import json
import re
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import ValidationError

from server.debate.facts.events import Cause, Failed, Usage
from server.debate.facts.state import Debate
from server.debate.facts.text import clean, collapse_whitespace
from server.debate.prompts.tool_schemas import FunctionCall
from server.debate.prompts.transcript import lettered_debaters
from server.debate.rules.decide import Call

MAX_TURN_LENGTH = 12_000
"""Characters. About 2,000 words, ten times what a debater is asked for; beyond it a turn is cut."""

MAX_DETAIL_LENGTH = 500
"""Characters of why an answer failed that are kept."""

MAX_JSON_CANDIDATES = 50
"""How many opening braces of a reply are tried as the beginning of its JSON."""

_CODE_FENCE = re.compile(r"```(?:json)?(.*?)```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back from a model. `cut` where the model was stopped by its token limit."""

    text: str
    usage: Usage
    cut: bool = False
    informative: bool = True  # False: too small a model for its judgments to mean anything
    function_calls: tuple[FunctionCall, ...] = ()


def build_failure(
    call: Call, cause: Cause, detail: str, usage: Usage | None = None, *, attempts: int = 1
) -> Failed:
    """The event that no usable answer is, whatever a model said about it."""
    return Failed(
        seat=call.seat,
        round=call.round,
        slot_index=call.slot_index,
        cause=cause if cause in get_args(Cause) else "crashed",
        detail=collapse_whitespace(clean(detail))[:MAX_DETAIL_LENGTH],
        usage=usage,
        attempts=attempts,
        model=call.model,
    )


def find_json(text: str) -> Any:
    """The JSON in a reply: the whole of it, in a code fence, or an object amid prose.

    Raises:
        ValueError: there is none.
    """
    fenced = _CODE_FENCE.search(text)
    for candidate in (text, fenced.group(1) if fenced else ""):
        try:
            return json.loads(candidate)
        except ValueError:
            continue
    braces = [match.start() for match in re.finditer("{", text)]
    for start in braces[:MAX_JSON_CANDIDATES]:  # prose may hold braces of its own before the answer's
        try:
            found, _ = json.JSONDecoder().raw_decode(text, start)
        except ValueError:
            continue
        return found
    if not braces:
        raise ValueError("the reply holds no JSON object")
    raise ValueError("the JSON of the reply is broken off or malformed")


def find_debaters(debate: Debate, name: str) -> set[str]:
    """The debaters whom this may mean: by letter, else by stance or name, in any case."""
    wanted = normalize_name(name)
    return {d.name for letter, d in lettered_debaters(debate) if wanted == normalize_name(letter)} or {
        debater.name
        for debater in debate.setup.debaters
        if wanted in (normalize_name(debater.stance), normalize_name(debater.name))
    }


def find_debaters_by_name(debate: Debate, name: str) -> set[str]:
    """As `meant`, where a name was asked for: a debater who is called "B" goes before the letter."""
    wanted = normalize_name(name)
    return {d.name for d in debate.setup.debaters if wanted == normalize_name(d.name)} or find_debaters(
        debate, name
    )


def normalize_name(text: str) -> str:
    """A name as it is compared: no matter the case, the spacing and what it is quoted in."""
    return collapse_whitespace(text).strip(".\"'*_ ").casefold().removeprefix("position ")


def describe_error(error: Exception, *, cut: bool) -> str:
    """Why a reply could not be read, in a sentence that its author can act on."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the answer"
        said = f"{where}: {first['msg']}"
    else:
        said = str(error) or type(error).__name__
    return f"{said} (it was stopped at its token limit)" if cut else said


def shorten_turn(text: str) -> str:
    """The text, or as many whole sentences of it as a turn may hold."""
    if len(text) <= MAX_TURN_LENGTH:
        return text
    head = text[:MAX_TURN_LENGTH]
    end = max(head.rfind(mark) for mark in (". ", ".\n", "! ", "? ", "。"))
    return head[: end + 1] if end > MAX_TURN_LENGTH // 2 else head
