"""Removes secrets from texts that are logged, recorded or shown.

A value is secret because of what it is called or where it stands, or because it looks random; what a process knows
of its environment and its configuration is learned at its start. A secret shorter than `MIN_LENGTH` is none.
"""

import base64
import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar
from urllib.parse import quote, quote_plus, unquote

from pydantic import BaseModel

AnyModel = TypeVar("AnyModel", bound=BaseModel)

MASK = "[secret]"
MIN_LENGTH = 8
MIN_RANDOM_LENGTH = 20
MIN_RANDOM_BITS = 3.5  # a character; English has about 4, but not in a word of 20 letters

SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "AUTH", "CREDENTIAL", "COOKIE")
"""What the name of a secret holds, anywhere and in any case."""

_SCHEME = "(?:bearer|basic|token) +"  # before the secret in a header

_forms: tuple[str, ...] | None = None  # None: the environment was not read yet
"""Every spelling of every secret of this process, the longest first: one may be the beginning of another."""


def learn_secrets(values: Iterable[str]) -> None:
    """Redact these values from now on, in this process, besides those that are known already."""
    global _forms  # noqa: PLW0603  (what a process must not tell is the same for all of it)
    forms = {*_known_forms()}
    if new_forms := {form for value in values for form in _spell(value.strip())} - forms:
        _forms = tuple(sorted(forms | new_forms, key=lambda form: (-len(form), form)))


def redact(text: str) -> str:
    """The text with "[secret]" in place of every secret that was learned."""
    for form in _known_forms():
        if form in text:
            text = text.replace(form, MASK)
    return text


def redact_error(text: str) -> str:
    """As `redact`, and without what looks like a key, for texts of libraries and providers."""
    return _compile_key_shapes().sub(lambda match: (match["named"] or "") + MASK, redact(text))


def redact_json(value: Any, keep: Sequence[str] = ()) -> Any:
    """Plain data with its texts redacted, but for those under the keys `keep`."""
    if isinstance(value, dict):
        return {key: part if key in keep else redact_json(part, keep) for key, part in value.items()}
    if isinstance(value, list):
        return [redact_json(part, keep) for part in value]
    return redact(value) if isinstance(value, str) else value


MODEL_FIELDS = ("model", "models", "fallback_models", "writer", "checker")
"""Fields of facts that name models, which are asked by these names, even if one is a value of the environment."""


def redact_model(model: AnyModel, keep: Sequence[str] = ()) -> AnyModel:
    """As `redact_json`, for a pydantic model; the same object if nothing in it is secret."""
    text = model.model_dump_json(by_alias=True)
    if not any(form in text for form in _known_forms()):
        return model
    return type(model).model_validate(redact_json(model.model_dump(mode="json", by_alias=True), keep))


def redact_pieces(text: str, piece: str) -> tuple[str, str]:
    """(what of `text` and a piece that follows it can be shown, what has to wait: it may begin a secret)."""
    text = redact(text + piece)
    waiting = max((_overlap(text, form) for form in _known_forms()), default=0)
    return text[: len(text) - waiting], text[len(text) - waiting :]


def find_secrets(environ: Mapping[str, str]) -> Iterator[str]:
    for name, value in environ.items():
        if is_secret_name(name) and not name.upper().endswith(("_FILE", "COUNTERPOINT_TOKENS")):  # paths
            yield from (value, re.sub(f"^{_SCHEME}", "", value, flags=re.IGNORECASE))
        elif _is_random(value):
            yield value
        if not re.search(r"\s", value) or value.lstrip()[:1] in (
            "{",
            "[",
        ):  # no prose: an address, pairs, JSON
            yield from find_secret_parts(value)


def is_secret_name(name: str) -> bool:
    return any(word in name.upper() for word in SECRET_WORDS)


def find_secret_parts(text: str) -> Iterator[str]:
    """What stands in the user part of an address, or after a name of a secret: `?api_key=…`, `Authorization: …`."""
    for scheme, user_part in re.findall(r"(\w*)://([^/\s?#]+)@", text) if "://" in text else ():
        user, _, password = user_part.partition(":")
        if scheme.startswith("postgres") and not password:
            continue  # the user of a database; elsewhere it may be a token
        plain = unquote(user_part)
        yield from (user_part, plain, password or user, unquote(password or user))
        yield base64.b64encode(plain.encode()).decode()  # as the header Authorization has it
    if is_secret_name(text):
        yield from _compile_named_part().findall(text)


def find_secret_arguments(arguments: Sequence[str]) -> Iterator[str]:
    """The secrets on a command line: `--token X`, `--token=X`, `-H "X-Api-Key: X"`."""
    for flag, value in zip(arguments, [*arguments[1:], ""], strict=True):
        if flag.startswith("-") and is_secret_name(flag) and "=" not in flag:
            yield value
        yield from find_secret_parts(flag)


def find_secret_headers(headers: Mapping[str, str]) -> Iterator[str]:
    """The values of headers, and their parts: a token without its scheme, each of several cookies."""
    for value in headers.values():
        yield from (value, *re.split(r"[\s;,]+", value), *re.split(r"[\s;,=]+", value))


@cache
def _compile_named_part() -> re.Pattern[str]:
    """NAME=X, NAME: X, "NAME": "X". Compiled where it is needed: that takes long."""
    name = rf"(?:^|[?&;,{{\[])\s*[\"'-]*[\w-]*(?:{'|'.join(SECRET_WORDS)})[\w-]*"
    return re.compile(rf"""{name}["']?\s*[=:]\s*["']?(?:{_SCHEME})?([^\s&;,"']+)""", re.IGNORECASE)


@cache
def _compile_key_shapes() -> re.Pattern[str]:
    """The keys of well-known providers, and what stands where keys do."""
    return re.compile(
        r"\b[sprx]k[-_][\w*.-]{6,}|\b(?:AIza|gsk_|xai-|ghp_|hf_|cpt_|cps_)[\w-]{6,}|\beyJ[\w-]+\.eyJ[\w-]+\.[\w-]*"
        r"|\b(?:bearer|basic)\s+[\w.~+/*=-]+"
        rf"|(?P<named>(?<=[?&])[\w-]*(?:{'|'.join(SECRET_WORDS)})[\w-]*=)[^&\s\"']+|(?<=://)[^/\s@]+:[^/\s@]+(?=@)",
        re.IGNORECASE,
    )


def _known_forms() -> tuple[str, ...]:
    global _forms  # noqa: PLW0603
    if _forms is None:
        _forms = ()
        learn_secrets(find_secrets(os.environ))
    return _forms


def _is_random(value: str) -> bool:
    if len(value) < MIN_RANDOM_LENGTH or re.search(r"[\s/\\]", value):
        return False
    shares = [count / len(value) for count in Counter(value).values()]
    return -sum(share * math.log2(share) for share in shares) >= MIN_RANDOM_BITS


def _spell(secret: str) -> set[str]:
    """The secret as it stands in texts, JSON, addresses and HTML; each line, if it has several."""
    escaped_forms = {
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        _escape_html(secret),
    }
    quoted_forms = {quote(secret), quote(secret, safe=""), quote_plus(secret)}
    lowercase_forms = {re.sub("%..", lambda match: match[0].lower(), form) for form in quoted_forms}
    lines = {line.strip() for line in secret.splitlines() if len(line) >= MIN_RANDOM_LENGTH}
    return (
        {secret, *escaped_forms, *quoted_forms, *lowercase_forms, *lines}
        if len(secret) >= MIN_LENGTH
        else set()
    )


def _escape_html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _overlap(text: str, form: str) -> int:
    """The length of the longest end of `text` that `form` begins with."""
    longest = min(len(text), len(form) - 1)
    return next((size for size in range(longest, 0, -1) if text.endswith(form[:size])), 0)
