"""What prompt caches of providers compare and keep, by their published rules.

OpenAI reads a schema of the answer before the messages, and Anthropic takes one as another prompt: a call with a schema
shares nothing with a call without. From GPT-5.6 on OpenAI keeps a beginning only where the request marks its end, and
keeping costs more than reading; Anthropic always did so. Others find the longest beginning by themselves.

https://developers.openai.com/api/docs/guides/prompt-caching
https://docs.claude.com/en/docs/build-with-claude/prompt-caching
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from typing import Any, Literal

from server.models import Request
from server.models.prices import find_row

CACHE_KEY, CACHE_OPTIONS = "prompt_cache_key", "prompt_cache_options"
CACHE_FIELDS = {CACHE_KEY, CACHE_OPTIONS}

MARKS: dict[str, dict[str, Any]] = {
    "anthropic": {"cache_control": {"type": "ephemeral"}},
    "openai": {"prompt_cache_breakpoint": {"mode": "explicit"}},
}


@dataclass(frozen=True, slots=True)
class PromptCache:
    """Whether a schema is a part of what is compared, how the end of a beginning is marked, and if there is a key."""

    reads_schema: bool = False
    mark: Literal["anthropic", "openai", ""] = ""
    has_key: bool = False


OTHERS = PromptCache()
ANTHROPIC = PromptCache(reads_schema=True, mark="anthropic")


def find_openai_cache(name: str) -> PromptCache:
    has_marks = find_row(name).get("supports_prompt_cache_breakpoint") is True
    return PromptCache(reads_schema=True, mark="openai" if has_marks else "", has_key=True)


def build_cache_fields(cache: PromptCache, request: Request) -> dict[str, Any]:
    """The fields that tell OpenAI which requests begin alike, and to keep only what is marked."""
    prompt = request.prompt
    fields: dict[str, Any] = {CACHE_OPTIONS: {"mode": "explicit"}} if cache.mark == "openai" else {}
    if cache.has_key and request.marks:
        digest = sha256("\n".join([*(one.content for one in prompt.messages[:-1]), ""]).encode())
        digest.update(prompt.messages[-1].content[: prompt.documents].encode())
        fields[CACHE_KEY] = digest.hexdigest()[:32]
    return fields


def build_blocks(request: Request, mark: str) -> list[dict[str, Any]]:
    """The last message in blocks, one for each paragraph of its record, with the ends marked that a cache is to keep.

    Beginnings are compared block by block: so all prompts are divided alike, whichever ends they mark.
    """
    text = request.prompt.messages[-1].content
    ends: Sequence[int] = [0, *request.prompt.list_record_ends(), len(text)]
    return [
        {"type": "text", "text": text[start:end]} | (MARKS[mark] if end in request.marks else {})
        for start, end in pairwise(ends)
    ]
