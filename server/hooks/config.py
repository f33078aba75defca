"""The file of hooks: its shape, and everything that can be wrong with it, told at once and by line."""

import re
from collections.abc import Callable, Iterable, Mapping
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
"""Bytes; a hook has a few hundred."""

MAX_PROBLEMS = 30
"""More than anybody reads at once."""

PROBLEM_TEXTS = {
    "extra_forbidden": "there is no such key",
    "missing": "it is missing",
    "too_short": "it is empty",
    "string_too_short": "it is empty",
    "string_type": "it has to be a text",
    "string_pattern_mismatch": "it has to be 1 to 40 letters, digits, - and _, without spaces",
    "tuple_type": "it has to be a list",
    "model_type": "it has to be keys and values",
}
"""What pydantic finds, for people who write YAML."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(slots=True)
class CheckContext:
    """What a hook is checked against beside itself."""

    allow: "AllowedHosts"
    environ: Mapping[str, str]
    hook_names: set[str] = field(default_factory=set)


def get_check_context(info: ValidationInfo) -> CheckContext:
    assert isinstance(info.context, CheckContext)
    return info.context


class ConfigModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class AllowedHosts(ConfigModel):
    """Where webhooks may go. A place is a host, or a host and a port: `[::1]:9000`, `localhost`."""

    hosts: Annotated[
        tuple[str, ...],
        Field(description="Hosts, or `host:port`, that webhooks may go to, over https, at public addresses."),
    ] = ()
    private: Annotated[
        tuple[str, ...],
        Field(description="Those that may be at private addresses, this machine's included, and over http."),
    ] = ()

    @field_validator("hosts", "private")
    @classmethod
    def validate_hosts(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        for place in hosts:
            parts = urlsplit(f"//{place}")
            try:
                plain = (
                    parts.netloc == place and bool(parts.hostname) and "@" not in place and parts.port != 0
                )
            except ValueError:
                plain = False
            if not plain or "*" in place:
                raise ValueError(f"{place[:80]!r} is no host: write its name, or name:port")
        return tuple(place.lower() for place in hosts)

    def host_spellings(self, host: str, port: int) -> set[str]:
        """How a place can be written."""
        bare = f"[{host}]" if ":" in host else host
        return {bare, f"{bare}:{port}"}

    def is_private(self, host: str, port: int) -> bool:
        """Whether a private address of this machine or network is meant, and allowed."""
        return bool(self.host_spellings(host, port) & set(self.private))

    def is_allowed(self, host: str, port: int) -> bool:
        return bool(self.host_spellings(host, port) & {*self.hosts, *self.private})


class Webhook(ConfigModel):
    url: Annotated[str, Field(description="Where to post. Its host has to be under `allow`.")]
    secret_env: Annotated[
        str, Field(description="The environment variable that holds the secret of the signature.")
    ]
    timeout: Annotated[float, Field(ge=0.1, le=30, description="Seconds for one attempt, at most 30.")] = 10
    attempts: Annotated[int, Field(ge=1, le=10, description="How often it is tried, at most 10 times.")] = 7

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
        around = get_check_context(info)
        parts = urlsplit(url)
        try:
            whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            whole = False
        if not whole or not url.isascii() or not url.isprintable() or " " in url:
            raise ValueError("it is no address: write https://host/path")
        if "@" in parts.netloc or parts.fragment:
            raise ValueError("it has to do without a user, a password and a fragment (#…)")
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        if not around.allow.is_allowed(host, port):
            raise ValueError(f"the host {host} is not allowed: add it to allow.hosts")
        private = around.allow.is_private(host, port)
        if parts.scheme == "http" and not private:
            raise ValueError("http is for hosts under allow.private only: write https")
        if is_address(host) and not (private or is_public(host)):
            raise ValueError(f"{host} is a private address: name it under allow.private, or write another")
        return url

    @field_validator("secret_env")
    @classmethod
    def validate_secret_env(cls, name: str, info: ValidationInfo) -> str:
        around = get_check_context(info)
        if not _VARIABLE.fullmatch(name):
            raise ValueError("it is no name of an environment variable")
        if not around.environ.get(name):
            raise ValueError(f"the environment variable {name} is not set")
        return name


class InterventionAction(ConfigModel):
    action: Annotated[str, Field(description=f"One of {', '.join(f'`{name}`' for name in HOOK_ACTIONS)}.")]
    text: Annotated[
        str,
        Field(
            max_length=MAX_NOTE_LENGTH, description="The note to inject, or the challenge, with placeholders."
        ),
    ] = ""
    to: Annotated[str, Field(description="The debater it is for, with placeholders. Default: all.")] = ""

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
    """One of the three."""

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
            raise ValueError("an action is one of log, webhook, intervene, with what belongs to it")
        return data


class Hook(ConfigModel):
    name: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$",
            description="Letters, digits, - and _. What it does is recorded under it.",
        ),
    ]
    on: Annotated[tuple[str, ...], Field(min_length=1, description="An event, or a list of them.")]
    when: Annotated[
        dict[str, tuple[str, ...]],
        Field(description="Fields and the value, or a list of the values, that each may have. Default: any."),
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
        around = get_check_context(info)
        if name in around.hook_names:
            raise ValueError(f"there are two hooks called {name}")
        around.hook_names.add(name)
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
        """Each condition as the list of the values that meet it."""
        if not isinstance(data, dict):
            raise ValueError("it has to be fields and their values")  # noqa: TRY004  (pydantic reports it)
        made = {name: value if isinstance(value, list) else [value] for name, value in data.items()}
        for name, wanted in made.items():
            if not wanted or not all(isinstance(one, str | int | float) for one in wanted):
                raise ValueError(f"{name[:40]} has to be a word, a number, true, false, or a list of them")
        return {name: tuple(map(format_value, wanted)) for name, wanted in made.items()}

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
    """A whole file."""

    hooks: Annotated[tuple[Hook, ...], Field(max_length=50, description="The hooks, at most 50.")] = ()
    allow: Annotated[AllowedHosts, Field(description="Where webhooks may go. Default: nowhere.")] = (
        AllowedHosts()
    )
    max_age_hours: Annotated[
        float, Field(ge=0.01, le=720, description="What happened longer ago is let go, at most 720.")
    ] = 24


def check_template(template: str) -> str:
    """Raise ValueError unless every placeholder of a text is one that some event fills."""
    known = {*available_fields((ANY_EVENT,)), "hook"}
    if unknown := [name for name in find_placeholders(template) if name not in known]:
        raise ValueError(f"there is no placeholder {{{unknown[0][:40]}}}{suggest_name(unknown[0], known)}")
    return template


def suggest_name(word: str, known: Iterable[str]) -> str:
    """What may have been meant, and where all that there are stand."""
    close = get_close_matches(word, sorted(known), n=1)
    return f": did you mean {close[0]}?" if close else "; docs/hooks.md lists those there are"


def load_hooks_config(path: str, environ: Mapping[str, str]) -> HooksConfig:
    """The hooks of a file.

    Raises:
        BadSettings: something in it is wrong; the text tells everything that is.
    """
    found = parse_yaml(read_config_file(path))
    rules = None if found.problems else parse_config(found, environ)
    if rules is None:
        told = [f"  {fault}" for fault in sorted(found.problems, key=lambda fault: fault.line)]
        if len(told) > MAX_PROBLEMS:
            told[MAX_PROBLEMS:] = [f"  and {len(told) - MAX_PROBLEMS} more"]
        raise InvalidSettingsError(
            "\n".join([f"The hooks file {path} ({PREFIX}HOOKS) cannot be used:", *told])
        )
    return rules


def read_config_file(path: str) -> str:
    file = Path(path).expanduser()
    refuse: Callable[[str], InvalidSettingsError] = lambda why: InvalidSettingsError(  # noqa: E731  (said three times)
        f"The hooks file {path} ({PREFIX}HOOKS) cannot be read: {why}."
    )
    try:
        if not file.is_file():
            raise refuse("there is no such file")
        with file.open("rb") as opened:
            content = opened.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise refuse(f"it has more than {MAX_FILE_BYTES:,} bytes")
        return content.decode()
    except OSError as error:
        raise refuse(error.strerror or "the disk reports an error") from error
    except UnicodeDecodeError:
        raise refuse("it is no text in UTF-8") from None


def parse_config(document: YamlDocument, environ: Mapping[str, str]) -> HooksConfig | None:
    """The rules in a file; None, and its faults, if there is something wrong."""
    data = {} if document.data is None else document.data
    given = data.get("allow", {}) if isinstance(data, dict) else {}
    try:
        allow = AllowedHosts.model_validate(given)
    except ValidationError:  # told below, with everything else
        allow = AllowedHosts()
    try:
        return HooksConfig.model_validate(data, context=CheckContext(allow, environ))
    except ValidationError as error:
        told = error.errors(include_url=False)
        # Where every part of a list is wrong, it is not also too short.
        document.problems += [
            build_problem(one, document) for one in told if one["type"] != "too_short" or not one["input"]
        ]
        return None


def build_problem(error: Any, document: YamlDocument) -> Problem:
    path = tuple(error["loc"])
    said = PROBLEM_TEXTS.get(error["type"], error["msg"].removeprefix("Value error, "))
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    return Problem(document.find_line(path), f"{place or 'the file'}: {said[0].lower()}{said[1:]}"[:600])
