"""The hooks file: its schema, and a report of all its errors with their lines."""

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from server.debate.interventions.notes import MAX_NOTE_LENGTH
from server.debate.interventions.registry import HOOK_ACTIONS, HOOK_ACTIONS_WITH_TEXT
from server.hooks import matching
from server.hooks.address_policy import is_metadata_host, is_public, parse_address
from server.hooks.yaml_with_lines import parse_yaml
from server.redaction import find_secret_parts, learn_secrets
from server.settings import PREFIX, InvalidSettingsError, read_text_file

MAX_FILE_BYTES = 64 * 1024
MAX_PROBLEMS = 30

SECRET_PREFIX = "whsec_"  # noqa: S105  (a prefix, not a secret)

PROBLEM_TEXTS = {
    "extra_forbidden": "there is no such key",
    "missing": "it is missing",
    "too_short": "it is empty",
    "string_too_short": "it is empty",
    "string_type": "it must be a text",
    "string_pattern_mismatch": "it must be 1 to 40 letters, digits, - and _, without spaces",
    "tuple_type": "it must be a list",
    "model_type": "it must be keys and values",
}
"""Pydantic's error types, in words for people who write YAML."""


def check_host(host: str) -> str:
    if urlsplit(f"//{host}").netloc != host or not find_port(f"http://{host}") or set("@*") & set(host):
        raise ValueError(f"{host[:80]!r} is not a host: write its name, or name:port")
    return host.lower()


def find_port(url: str) -> int:
    """The port of an address; 0 if it is not a complete http or https address."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        return 0
    default = {"http": 80, "https": 443}.get(parts.scheme, 0)
    return (default if port is None else port) if default and parts.hostname else 0


def one_of(kind: str, names: Sequence[str]) -> AfterValidator:
    def check(name: str) -> str:
        if name not in names:
            raise ValueError(f"there is no {kind} {name[:40]!r}; {kind}s: {', '.join(names)}")
        return name

    return AfterValidator(check)


def check_template(template: str) -> str:
    """Raises ValueError for a placeholder that no event can fill."""
    field_names = {*matching.available_fields((matching.ANY_EVENT,)), "hook"}
    if unknown := [name for name in matching.find_placeholders(template) if name not in field_names]:
        raise ValueError(
            f"there is no placeholder {{{unknown[0][:40]}}}{suggest_name(unknown[0], field_names)}"
        )
    return template


def suggest_name(word: str, names: Iterable[str]) -> str:
    """The most similar name, or a reference to the list of all."""
    close = get_close_matches(word, sorted(names), n=1)
    return f": did you mean {close[0]}?" if close else "; docs/hooks.md lists all"


def check_conditions(data: Any, info: ValidationInfo) -> Any:
    """Convert each condition to a list of values. Raises ValueError for a field that no chosen event has."""
    if not isinstance(data, dict):
        raise ValueError("it must be fields and their values")  # noqa: TRY004  (pydantic reports it)
    lists = {name: value if isinstance(value, list) else [value] for name, value in data.items()}
    for name, values in lists.items():
        if not values or not all(isinstance(value, str) for value in values):
            raise ValueError(f"{name[:40]} must be a word, a number, true, false, or a list of these")
    field_names = matching.available_fields(info.data.get("on", (matching.ANY_EVENT,)))
    if unknown := sorted(set(lists) - field_names):
        raise ValueError(
            f"none of its events has a field {unknown[0][:40]!r}{suggest_name(unknown[0], field_names)}"
        )
    return lists


Hosts = tuple[Annotated[str, AfterValidator(check_host)], ...]
Template = Annotated[str, AfterValidator(check_template)]


class ConfigModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class AllowedHosts(ConfigModel):
    """The hosts that webhooks may use, each with or without a port: `[::1]:9000`, `localhost`."""

    hosts: Hosts = ()
    """Hosts, or `host:port`, that webhooks may use, over https, at public addresses."""

    private: Hosts = ()
    """Hosts that may have private or loopback addresses, and be used over http."""

    def find_access(self, host: str, port: int) -> Literal["private", "public", ""]:
        """Where a host may be: at any address, at public ones, or nowhere."""
        bare = f"[{host}]" if ":" in host else host
        spellings = {bare, f"{bare}:{port}"}
        return "private" if spellings & {*self.private} else "public" if spellings & {*self.hosts} else ""


@dataclass(slots=True)
class CheckContext:
    """What validators need of the process and of the parts of the file before them."""

    environ: Mapping[str, str]
    allow: AllowedHosts = field(default_factory=AllowedHosts)
    hook_names: set[str] = field(default_factory=set)


def check_url(url: str, info: ValidationInfo[CheckContext]) -> str:
    port, parts = find_port(url), urlsplit(url)
    learn_secrets(find_secret_parts(url))
    if not port or not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError("it is not an address: write https://host/path")
    if "@" in parts.netloc or parts.fragment:
        raise ValueError("it must not contain a user, a password or a fragment (#…)")
    host = parts.hostname or ""
    access = info.context.allow.find_access(host, port)
    if not access:
        raise ValueError(f"the host {host} is not allowed: add it to allow.hosts")
    if parts.scheme == "http" and access != "private":
        raise ValueError("http is only for hosts under allow.private: write https")
    if parse_address(host) and access != "private" and not is_public(host):
        raise ValueError(f"{host} is a private address: add it to allow.private")
    if is_metadata_host(host) and access != "private":
        raise ValueError(f"{host} is a metadata service: add it to allow.private")
    return url


def check_secret_env(name: str, info: ValidationInfo[CheckContext]) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError("it is not the name of an environment variable")
    if not (secret := info.context.environ.get(name)):
        raise ValueError(f"the environment variable {name} is not set")
    try:
        decode_secret(secret)
    except ValueError:
        raise ValueError(f"the value of {name} begins with whsec_ but is not base64") from None
    learn_secrets((secret, secret.removeprefix(SECRET_PREFIX)))
    return name


def check_unique(name: str, info: ValidationInfo[CheckContext]) -> str:
    if name in (names := info.context.hook_names):
        raise ValueError(f"there are two hooks called {name}")
    names.add(name)
    return name


class Webhook(ConfigModel):
    url: Annotated[str, AfterValidator(check_url)]
    """The address to post to. Its host must be under `allow`."""

    secret_env: Annotated[str, AfterValidator(check_secret_env)]
    """The environment variable with the secret: `whsec_` and base64, or any text."""

    timeout: Annotated[float, Field(ge=0.1, le=30)] = 10
    """Seconds for one attempt, at most 30."""

    attempts: Annotated[int, Field(ge=1, le=10)] = 7
    """Attempts, at most 10."""

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        return find_port(self.url)


class InterventionAction(ConfigModel):
    action: Annotated[str, one_of("action", HOOK_ACTIONS)]
    """One of `pause`, `resume`, `inject`, `challenge`, `instruct`, `conclude`, `tag`, `untag`."""

    text: Annotated[Template, Field(max_length=MAX_NOTE_LENGTH)] = ""
    """The note to inject, the challenge, or the tags, with placeholders."""

    to: Template = ""
    """The debater to address, with placeholders. Default: all."""

    @model_validator(mode="after")
    def check_text_use(self) -> Self:
        if (self.action in HOOK_ACTIONS_WITH_TEXT) != bool(self.text.strip()):
            raise ValueError(
                f"a text is needed by {' and '.join(HOOK_ACTIONS_WITH_TEXT)}, and by nothing else"
            )
        return self


class Action(ConfigModel):
    """Exactly one of the three."""

    log: Annotated[Template, Field(min_length=1, max_length=2000)] | None = None
    webhook: Webhook | None = None
    intervene: InterventionAction | None = None

    @model_validator(mode="before")
    @classmethod
    def check_single_key(cls, data: Any) -> Any:
        if not isinstance(data, dict) or len(data) != 1:
            raise ValueError("an action is one of log, webhook, intervene, with its fields")
        return data


class Hook(ConfigModel):
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$"), AfterValidator(check_unique)]
    """Letters, digits, - and _. Interventions are recorded under it."""

    on: Annotated[
        tuple[Annotated[str, one_of("event", (matching.ANY_EVENT, *matching.NAMED_EVENTS))], ...],
        Field(min_length=1),
        BeforeValidator(lambda data: [data] if isinstance(data, str) else data),
    ]
    """An event, or a list of events."""

    when: Annotated[dict[str, tuple[str, ...]], BeforeValidator(check_conditions)] = {}
    """Fields with the value, or the list of values, that match. Default: any."""

    do: Annotated[tuple[Action, ...], Field(min_length=1, max_length=10)]
    """Actions: each a `log`, a `webhook` or an `intervene`."""


def share_allowed(allow: AllowedHosts, info: ValidationInfo[CheckContext]) -> AllowedHosts:
    """Let the webhooks, which are validated later, know the hosts."""
    info.context.allow = allow
    return allow


class HooksConfig(ConfigModel):
    allow: Annotated[AllowedHosts, AfterValidator(share_allowed)] = AllowedHosts()
    """The hosts of webhooks. Default: none."""

    hooks: Annotated[tuple[Hook, ...], Field(max_length=50)] = ()
    """The hooks, at most 50."""

    max_age_hours: Annotated[float, Field(ge=0.01, le=720)] = 24
    """Older events and deliveries are dropped; at most 720."""


def load_hooks_config(path: str, environ: Mapping[str, str]) -> HooksConfig:
    """Read a hooks file. Raises InvalidSettingsError, whose text lists all errors by line."""
    name = f"The hooks file {path} ({PREFIX}HOOKS)"
    text = read_text_file(path, name)
    if len(text.encode()) > MAX_FILE_BYTES:
        raise InvalidSettingsError(f"{name} cannot be read: it has more than {MAX_FILE_BYTES:,} bytes.")
    document = parse_yaml(text)
    problems = document.problems
    if not problems:
        try:
            return HooksConfig.model_validate(document.data, context=CheckContext(environ))
        except ValidationError as error:
            # A list whose items are all invalid is reported as too short as well: leave that out.
            problems = [
                (document.find_line(one["loc"]), describe_problem(one))
                for one in error.errors(include_url=False)
                if one["type"] != "too_short" or not one["input"]
            ]
    problems.sort(key=lambda problem: problem[0])
    lines = [f"  line {line}: {message}" if line else f"  {message}" for line, message in problems]
    if len(lines) > MAX_PROBLEMS:
        lines[MAX_PROBLEMS:] = [f"  and {len(lines) - MAX_PROBLEMS} more"]
    raise InvalidSettingsError("\n".join([f"{name} cannot be used:", *lines]))


def describe_problem(error: Any) -> str:
    """The place and the message of one of pydantic's errors."""
    message = PROBLEM_TEXTS.get(error["type"], error["msg"].removeprefix("Value error, "))
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error["loc"])
    return f"{place.lstrip('.') or 'the file'}: {message[0].lower()}{message[1:]}"[:600]


def decode_secret(secret: str) -> bytes:
    """The key of a signature: the base64 after `whsec_` (else ValueError), or the text itself."""
    if not secret.startswith(SECRET_PREFIX):
        return secret.encode()
    return base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
