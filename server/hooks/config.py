"""The hooks file: its schema, and a report of all its errors with their lines."""

import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from server.debate.commands.intervene import HOOK_ACTIONS, MAX_NOTE_LENGTH, TEXT_ACTIONS
from server.hooks.address_policy import is_address, is_public
from server.hooks.matching import (
    ANY_EVENT,
    all_event_names,
    available_fields,
    find_placeholders,
    format_value,
)
from server.hooks.yaml_with_lines import Problem, YamlDocument, parse_yaml
from server.settings import PREFIX, InvalidSettingsError

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

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(slots=True)
class CheckContext:
    """The parts of the file and the process that validators of a hook need."""

    allow: "AllowedHosts"
    environ: Mapping[str, str]
    hook_names: set[str] = field(default_factory=set)


def get_check_context(info: ValidationInfo) -> CheckContext:
    assert isinstance(info.context, CheckContext)
    return info.context


class ConfigModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class AllowedHosts(ConfigModel):
    """The hosts that webhooks may use, each with or without a port: `[::1]:9000`, `localhost`."""

    hosts: Annotated[
        tuple[str, ...],
        Field(description="Hosts, or `host:port`, that webhooks may use, over https, at public addresses."),
    ] = ()
    private: Annotated[
        tuple[str, ...],
        Field(description="Hosts that may have private or loopback addresses, and be used over http."),
    ] = ()

    @field_validator("hosts", "private")
    @classmethod
    def validate_hosts(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        for host in hosts:
            parts = urlsplit(f"//{host}")
            try:
                is_plain = parts.netloc == host and bool(parts.hostname) and parts.port != 0
            except ValueError:
                is_plain = False
            if not is_plain or "@" in host or "*" in host:
                raise ValueError(f"{host[:80]!r} is not a host: write its name, or name:port")
        return tuple(host.lower() for host in hosts)

    def host_spellings(self, host: str, port: int) -> set[str]:
        bare = f"[{host}]" if ":" in host else host
        return {bare, f"{bare}:{port}"}

    def is_private(self, host: str, port: int) -> bool:
        """Whether the host may have a private address."""
        return bool(self.host_spellings(host, port) & set(self.private))

    def is_allowed(self, host: str, port: int) -> bool:
        return bool(self.host_spellings(host, port) & {*self.hosts, *self.private})


class Webhook(ConfigModel):
    url: Annotated[str, Field(description="The address to post to. Its host must be under `allow`.")]
    secret_env: Annotated[
        str,
        Field(description="The environment variable with the secret: `whsec_` and base64, or any text."),
    ]
    timeout: Annotated[float, Field(ge=0.1, le=30, description="Seconds for one attempt, at most 30.")] = 10
    attempts: Annotated[int, Field(ge=1, le=10, description="Attempts, at most 10.")] = 7

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        parts = urlsplit(self.url)
        return parts.port or (443 if parts.scheme == "https" else 80)

    @field_validator("url")
    @classmethod
    def validate_url(cls, url: str, info: ValidationInfo) -> str:
        allow = get_check_context(info).allow
        parts = urlsplit(url)
        try:
            is_complete = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_complete = False
        if not is_complete or not url.isascii() or not url.isprintable() or " " in url:
            raise ValueError("it is not an address: write https://host/path")
        if "@" in parts.netloc or parts.fragment:
            raise ValueError("it must not contain a user, a password or a fragment (#…)")
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        if not allow.is_allowed(host, port):
            raise ValueError(f"the host {host} is not allowed: add it to allow.hosts")
        is_private = allow.is_private(host, port)
        if parts.scheme == "http" and not is_private:
            raise ValueError("http is only for hosts under allow.private: write https")
        if is_address(host) and not (is_private or is_public(host)):
            raise ValueError(f"{host} is a private address: add it to allow.private")
        return url

    @field_validator("secret_env")
    @classmethod
    def validate_secret_env(cls, name: str, info: ValidationInfo) -> str:
        if not _VARIABLE.fullmatch(name):
            raise ValueError("it is not the name of an environment variable")
        if not (secret := get_check_context(info).environ.get(name)):
            raise ValueError(f"the environment variable {name} is not set")
        try:
            decode_secret(secret)
        except ValueError:
            raise ValueError(f"the value of {name} begins with whsec_ but is not base64") from None
        return name


class InterventionAction(ConfigModel):
    action: Annotated[str, Field(description=f"One of {', '.join(f'`{name}`' for name in HOOK_ACTIONS)}.")]
    text: Annotated[
        str,
        Field(
            max_length=MAX_NOTE_LENGTH, description="The note to inject, or the challenge, with placeholders."
        ),
    ] = ""
    to: Annotated[str, Field(description="The debater to address, with placeholders. Default: all.")] = ""

    @field_validator("action")
    @classmethod
    def validate_action(cls, action: str) -> str:
        if action not in HOOK_ACTIONS:
            raise ValueError(f"there is no action {action[:40]!r}; actions: {', '.join(HOOK_ACTIONS)}")
        return action

    @field_validator("text", "to")
    @classmethod
    def validate_template(cls, template: str) -> str:
        return check_template(template)

    @model_validator(mode="after")
    def validate_text_use(self) -> Self:
        if (self.action in TEXT_ACTIONS) != bool(self.text.strip()):
            raise ValueError(f"a text is needed by {' and '.join(TEXT_ACTIONS)}, and by nothing else")
        return self


class Action(ConfigModel):
    """Exactly one of the three."""

    log: Annotated[str, Field(min_length=1, max_length=2000)] | None = None
    webhook: Webhook | None = None
    intervene: InterventionAction | None = None

    @field_validator("log")
    @classmethod
    def validate_template(cls, template: str) -> str:
        return check_template(template)

    @model_validator(mode="before")
    @classmethod
    def validate_single_key(cls, data: Any) -> Any:
        if not isinstance(data, dict) or len(data) != 1:
            raise ValueError("an action is one of log, webhook, intervene, with its fields")
        return data


class Hook(ConfigModel):
    name: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$",
            description="Letters, digits, - and _. Interventions are recorded under it.",
        ),
    ]
    on: Annotated[tuple[str, ...], Field(min_length=1, description="An event, or a list of events.")]
    when: Annotated[
        dict[str, tuple[str, ...]],
        Field(description="Fields with the value, or the list of values, that match. Default: any."),
    ] = {}
    do: Annotated[
        tuple[Action, ...],
        Field(
            min_length=1, max_length=10, description="Actions: each a `log`, a `webhook` or an `intervene`."
        ),
    ]

    @field_validator("name")
    @classmethod
    def validate_unique_name(cls, name: str, info: ValidationInfo) -> str:
        names = get_check_context(info).hook_names
        if name in names:
            raise ValueError(f"there are two hooks called {name}")
        names.add(name)
        return name

    @field_validator("on", mode="before")
    @classmethod
    def wrap_single_event(cls, data: Any) -> Any:
        return [data] if isinstance(data, str) else data

    @field_validator("on")
    @classmethod
    def validate_event_names(cls, on: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := [name for name in on if name not in (ANY_EVENT, *all_event_names())]:
            raise ValueError(
                f"there is no event {unknown[0][:40]!r}; events: {ANY_EVENT}, {', '.join(all_event_names())}"
            )
        return on

    @field_validator("when", mode="before")
    @classmethod
    def normalize_conditions(cls, data: Any) -> Any:
        """Convert each condition to a tuple of values."""
        if not isinstance(data, dict):
            raise ValueError("it must be fields and their values")  # noqa: TRY004  (pydantic reports it)
        lists = {name: value if isinstance(value, list) else [value] for name, value in data.items()}
        for name, values in lists.items():
            if not values or not all(isinstance(value, str | int | float) for value in values):
                raise ValueError(f"{name[:40]} must be a word, a number, true, false, or a list of these")
        return {name: tuple(map(format_value, values)) for name, values in lists.items()}

    @field_validator("when")
    @classmethod
    def validate_conditions(
        cls, when: dict[str, tuple[str, ...]], info: ValidationInfo
    ) -> dict[str, tuple[str, ...]]:
        known = available_fields(info.data.get("on", (ANY_EVENT,)))
        if unknown := sorted(set(when) - known):
            raise ValueError(
                f"none of its events has a field {unknown[0][:40]!r}{suggest_name(unknown[0], known)}"
            )
        return when


class HooksConfig(ConfigModel):
    hooks: Annotated[tuple[Hook, ...], Field(max_length=50, description="The hooks, at most 50.")] = ()
    allow: Annotated[AllowedHosts, Field(description="The hosts of webhooks. Default: none.")] = (
        AllowedHosts()
    )
    max_age_hours: Annotated[
        float, Field(ge=0.01, le=720, description="Older events and deliveries are dropped; at most 720.")
    ] = 24


def check_template(template: str) -> str:
    """Raises ValueError for a placeholder that no event can fill."""
    known = {*available_fields((ANY_EVENT,)), "hook"}
    if unknown := [name for name in find_placeholders(template) if name not in known]:
        raise ValueError(f"there is no placeholder {{{unknown[0][:40]}}}{suggest_name(unknown[0], known)}")
    return template


def suggest_name(word: str, known: Iterable[str]) -> str:
    """The most similar name, or a reference to the list of all."""
    close = get_close_matches(word, sorted(known), n=1)
    return f": did you mean {close[0]}?" if close else "; docs/hooks.md lists all"


def load_hooks_config(path: str, environ: Mapping[str, str]) -> HooksConfig:
    """Read a hooks file.

    Raises:
        InvalidSettingsError: the file has errors; the text lists them by line.
    """
    document = parse_yaml(read_config_file(path))
    config = None if document.problems else parse_config(document, environ)
    if config is None:
        lines = [f"  {problem}" for problem in sorted(document.problems, key=lambda one: one.line)]
        if len(lines) > MAX_PROBLEMS:
            lines[MAX_PROBLEMS:] = [f"  and {len(lines) - MAX_PROBLEMS} more"]
        heading = f"The hooks file {path} ({PREFIX}HOOKS) cannot be used:"
        raise InvalidSettingsError("\n".join([heading, *lines]))
    return config


def decode_secret(secret: str) -> bytes:
    """The key of a signature: the base64 after `whsec_`, or the text itself.

    Raises:
        ValueError: the part after `whsec_` is not base64.
    """
    if not secret.startswith(SECRET_PREFIX):
        return secret.encode()
    return base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)


def read_config_file(path: str) -> str:
    """Raises InvalidSettingsError if the file is missing, unreadable, too large or not UTF-8."""
    file, problem = Path(path).expanduser(), "there is no such file"
    try:
        if file.is_file():
            with file.open("rb") as opened:
                content = opened.read(MAX_FILE_BYTES + 1)
            if len(content) <= MAX_FILE_BYTES:
                return content.decode()
            problem = f"it has more than {MAX_FILE_BYTES:,} bytes"
    except OSError as error:
        problem = error.strerror or "the disk reports an error"
    except UnicodeDecodeError:
        problem = "it is not UTF-8 text"
    raise InvalidSettingsError(f"The hooks file {path} ({PREFIX}HOOKS) cannot be read: {problem}.")


def parse_config(document: YamlDocument, environ: Mapping[str, str]) -> HooksConfig | None:
    """The parsed configuration; None after adding to `document.problems`."""
    data = {} if document.data is None else document.data
    try:
        allow = AllowedHosts.model_validate(data.get("allow", {}) if isinstance(data, dict) else {})
    except ValidationError:  # reported below, with the other problems
        allow = AllowedHosts()
    try:
        return HooksConfig.model_validate(data, context=CheckContext(allow, environ))
    except ValidationError as error:
        # A list whose items are all invalid is reported as too short as well: leave that out.
        document.problems += [
            build_problem(one, document)
            for one in error.errors(include_url=False)
            if one["type"] != "too_short" or not one["input"]
        ]
        return None


def build_problem(error: Any, document: YamlDocument) -> Problem:
    path = tuple(error["loc"])
    message = PROBLEM_TEXTS.get(error["type"], error["msg"].removeprefix("Value error, "))
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    return Problem(
        document.find_line(path), f"{place or 'the file'}: {message[0].lower()}{message[1:]}"[:600]
    )
