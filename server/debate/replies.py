"""What a model's reply means. A bad reply is a fact too: `interpret` never raises."""

import json
import re
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from server.debate.events import Cause, Failed, Judged, Spoke, Usage
from server.debate.prompts import lettered
from server.debate.rules import Call
from server.debate.state import Debate
from server.debate.text import clean, one_line

LONGEST_TURN = 12_000
"""Characters. About 2,000 words, ten times what a debater is asked for; beyond it a turn is cut."""

LONGEST_FIELD = 4_000
"""Characters of a judge's reasoning that are kept."""

_FENCED = re.compile(r"```(?:json)?(.*?)```", re.DOTALL)


LONGEST_DETAIL = 500
"""Characters of why an answer failed that are kept."""

MOST_BRACES = 50
"""How many opening braces of a reply are tried as the beginning of its JSON."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back from a model. `cut` where the model was stopped by its token limit."""

    text: str
    usage: Usage
    cut: bool = False
    informative: bool = True  # False: too small a model for its judgments to mean anything


class Judgment(BaseModel):
    """A judge's answer as it comes in: any case, any spare keys, `null` as a word."""

    model_config = ConfigDict(extra="ignore")

    verdict: str
    winner: str | None
    reasoning: str
    margin: int = 1

    @field_validator("margin")
    @classmethod
    def within_bounds(cls, margin: int) -> int:
        return min(max(margin, 0), 3)

    @field_validator("verdict", "reasoning")
    @classmethod
    def is_text(cls, text: str) -> str:
        cleaned = clean(text)
        if not cleaned:
            raise ValueError("must not be empty")
        return cleaned[:LONGEST_FIELD]


def interpret(debate: Debate, call: Call, reply: Reply) -> Spoke | Judged | Failed:
    """The event that this reply is."""
    text = clean(reply.text)
    if not text:
        return failed(call, "empty", "the model said nothing", reply.usage)
    if call.reading:
        return judgment(debate, call, text, reply)
    kept = shorten(text)
    return Spoke(
        seat=call.seat,
        round=call.round,
        text=kept,
        usage=reply.usage,
        cut=reply.cut or kept != text,
    )


def judgment(debate: Debate, call: Call, text: str, reply: Reply) -> Judged | Failed:
    try:
        read = Judgment.model_validate(find_json(text))
        winner = named(debate, read.winner)
    except (ValueError, RecursionError) as error:
        return failed(call, "unreadable", problem(error, cut=reply.cut), reply.usage)
    return Judged(
        seat=call.seat,
        round=call.round,
        reading=call.reading,
        winner=winner,
        margin=read.margin if winner else 0,
        verdict=read.verdict,
        reasoning=read.reasoning,
        usage=reply.usage,
        informative=reply.informative,
    )


def failed(call: Call, cause: Cause, detail: str, usage: Usage | None = None, *, attempts: int = 1) -> Failed:
    """The event that no usable answer is, whatever a model said about it."""
    return Failed(
        seat=call.seat,
        round=call.round,
        reading=call.reading,
        cause=cause if cause in get_args(Cause) else "crashed",
        detail=one_line(clean(detail))[:LONGEST_DETAIL],
        usage=usage,
        attempts=attempts,
    )


def find_json(text: str) -> Any:
    """The JSON object in a reply: the whole of it, in a code fence, or amid prose.

    Raises:
        ValueError: there is none.
    """
    fenced = _FENCED.search(text)
    for candidate in (text, fenced.group(1) if fenced else ""):
        try:
            return json.loads(candidate)
        except ValueError:
            continue
    braces = [match.start() for match in re.finditer("{", text)]
    for start in braces[:MOST_BRACES]:  # prose may hold braces of its own before the answer's
        try:
            found, _ = json.JSONDecoder().raw_decode(text, start)
        except ValueError:
            continue
        return found
    if not braces:
        raise ValueError("the reply holds no JSON object")
    raise ValueError("the JSON of the reply is broken off or malformed")


def named(debate: Debate, winner: str | None) -> str:
    """The debater whom a judge means: by letter, else by stance or name, in any case; "" for nobody.

    Raises:
        ValueError: nobody here is called that, or two are.
    """
    wanted = plain(winner or "")
    if wanted in ("", "null", "none"):
        return ""
    letters = {letter: debater.name for letter, debater in lettered(debate)}
    found = {name for letter, name in letters.items() if wanted == plain(letter)} or {
        debater.name
        for debater in debate.setup.debaters
        if wanted in (plain(debater.stance), plain(debater.name))
    }
    if len(found) != 1:
        raise ValueError(f'"winner" must be one of {", ".join(letters)} or null')
    return found.pop()


def plain(text: str) -> str:
    """A name as it is compared: no matter the case, the spacing and what it is quoted in."""
    return one_line(text).strip(".\"' ").casefold().removeprefix("position ")


def problem(error: Exception, *, cut: bool) -> str:
    """Why a judgment could not be read, in a sentence that its author can act on."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the answer"
        said = f"{where}: {first['msg']}"
    else:
        said = str(error) or type(error).__name__
    return f"{said} (it was stopped at its token limit)" if cut else said


def shorten(text: str) -> str:
    """The text, or as many whole sentences of it as a turn may hold."""
    if len(text) <= LONGEST_TURN:
        return text
    head = text[:LONGEST_TURN]
    end = max(head.rfind(mark) for mark in (". ", ".\n", "! ", "? ", "。"))
    return head[: end + 1] if end > LONGEST_TURN // 2 else head
