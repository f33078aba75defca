"""Settings: environment variables and a file, parsed once into a frozen object."""

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from difflib import get_close_matches
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

import platformdirs
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from server.debate.facts.errors import DebateError
from server.debate.facts.setup.options import EffortLevel
from server.redaction import find_secret_arguments, find_secret_headers, find_secret_parts, find_secrets
from storage import LOCAL_OWNER
from storage.addresses import is_address

PREFIX = "COUNTERPOINT_"

_SERVER_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")


class InvalidSettingsError(DebateError):
    """A setting cannot be used. The text names it and never repeats its value, which may be a key."""


@cache
def package_version(package: str = "counterpoint-mcp", missing: str = "0") -> str:
    """The release of an installed package; `missing` for none, as when run from a bare checkout."""
    try:
        return version(package)
    except PackageNotFoundError:
        return missing


def split_names(value: Any) -> Any:
    return tuple(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else value


def parse_json(value: Any) -> Any:
    """Texts parsed; other values as they are. Raises ValueError without the text, which may hold keys."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except json.JSONDecodeError as error:
        raise ValueError(f"not valid JSON: {error.msg} (line {error.lineno})") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse_servers(value: Any) -> Any:
    """The servers by name, without those that are disabled."""
    servers = parse_json(value)
    if not isinstance(servers, dict):
        raise ValueError("must be an object of servers by name")  # noqa: TRY004  (pydantic reports it)
    if isinstance(inner_servers := servers.get("mcpServers"), dict) and len(servers) == 1:
        servers = inner_servers
    enabled_servers = {}
    for name, server in servers.items():
        if not _SERVER_NAME.fullmatch(name):
            raise ValueError(f"{name[:60]!r} is not a name: use 1 to 40 of a-z, A-Z, 0-9, _ and -")
        if not (isinstance(server, dict) and server.get("disabled") is True):
            enabled_servers[name] = server
    return enabled_servers


class ResearchServer(BaseModel):
    """An MCP server whose tools models may use, in the notation of MCP clients. Unknown keys are ignored.

    Commands, addresses and headers often hold keys: none of them is ever shown.
    """

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    command: str = Field("", repr=False)
    """The program to run as a child process."""
    args: tuple[str, ...] = Field((), repr=False)
    """Its arguments."""
    env: dict[str, str] = Field({}, repr=False)
    """Its environment variables, added to the few that every child gets (`PATH`, `HOME` and the like)."""
    cwd: str = Field("", repr=False)
    """Its working directory."""
    url: str = Field("", repr=False)
    """Instead of `command`: the address of a server over streamable HTTP."""
    headers: dict[str, str] = Field({}, repr=False)
    """HTTP headers for it, such as `Authorization`."""
    debaters: bool = False
    """Whether debaters may use it; moderator, judges, referee and synthesizer always may."""
    timeout: float = Field(30, ge=1, le=300)
    """Seconds for its start, and for each call."""
    tools: tuple[str, ...] | None = None
    """Names of the tools that may be used. Default: all."""

    @model_validator(mode="after")
    def check_transport(self) -> Self:
        if bool(self.command) == bool(self.url):
            raise ValueError("set either command or url")
        if self.url and not self.url.lower().startswith(("http://", "https://")):
            raise ValueError("url must begin with http:// or https://")
        return self

    def find_secrets(self) -> Iterator[str]:
        """What none of our texts may contain."""
        yield from find_secrets(self.env)
        yield from find_secret_headers(self.headers)
        yield from find_secret_arguments((self.command, *self.args))
        yield from find_secret_parts(self.url)

    def is_tool_allowed(self, tool: str) -> bool:
        return self.tools is None or "*" in self.tools or tool in self.tools


class ModelPrice(NamedTuple):
    """In dollars per million tokens, as providers quote it."""

    input: Annotated[Decimal, Field(ge=0, le=1_000_000)]
    output: Annotated[Decimal, Field(ge=0, le=1_000_000)]


class Settings(BaseModel):
    """Each has an environment variable, COUNTERPOINT_ and its name, and in the file the key `file_key(name)`."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, hide_input_in_errors=True)

    db: str = ""
    """Path of the database, or the address of a [PostgreSQL](postgresql.md) database, `postgresql://…`. Default:
    `debates.db` in the user's data directory."""
    db_password_file: str = ""
    """Path of a file with the password for that address. Default: what the address holds."""
    models: Annotated[tuple[str, ...], BeforeValidator(split_names)] = ()
    """Models for debates that name none, separated by commas. Default: by the API keys that are set."""
    effort: EffortLevel = "standard"
    """The [effort](budgets.md#effort) of debates that name none: `quick`, `standard` or `assured`. Default:
    `standard`."""
    embeddings: str = Field("", max_length=200)
    """The model that embeds texts, such as `openai/text-embedding-3-small`: it says whether
    [voters hold alike](ballots.md) what they hold, and which [earlier debates](memory.md) are related.
    Default: none."""
    cache_mb: int = Field(200, ge=0, le=100_000)
    """Megabytes of what is [kept to spare work](cache.md), such as embeddings. What was not used for longest goes
    first; 0 keeps nothing. Default: `200`."""
    concurrency: int = Field(256, ge=1, le=1000)
    """Maximum of concurrent requests to providers, of all debates of a server together. Default: `256`."""
    provider_concurrency: int = Field(0, ge=0, le=1000)
    """Maximum of concurrent requests to each provider, of all servers on the database that run debates now: each has
    a fair share. Default: `0`, which adapts to what the provider takes."""
    log_level: Annotated[
        Literal["DEBUG", "INFO", "WARNING", "ERROR"], BeforeValidator(lambda name: str(name).upper())
    ] = "WARNING"
    """Level of the log on stderr."""
    client_timeout: float = Field(30, gt=0, le=600)
    """Seconds that a client has for each turn of a seat whose model is [`client`](models.md#the-clients-own-model).
    Default: `30`."""
    hooks: str = ""
    """Path of a YAML file with actions for events of debates; see [Hooks](hooks.md). Default: none."""
    mcp_servers: Annotated[dict[str, ResearchServer], BeforeValidator(parse_servers)] = Field(
        {}, alias="mcpServers"
    )
    """MCP servers whose tools the seats of a debate may use; see [below](#research-servers). In the
    environment: as JSON."""
    prices: Annotated[dict[str, ModelPrice], BeforeValidator(parse_json)] = {}
    """Dollars per million tokens, by model: `{input, output}`. They override litellm's table. In the
    environment: as JSON."""
    windows: Annotated[dict[str, Annotated[int, Field(ge=500, le=10**9)]], BeforeValidator(parse_json)] = {}
    """Tokens that a model can read and write together, by model. They override what providers and litellm's
    table say. In the environment: as JSON."""
    daily_calls: int = Field(0, ge=0)
    """Maximum of requests to models in a day (UTC), of all debates together, retries included. Debates pause
    when it is reached. 0: no limit."""
    daily_cost_usd: Decimal = Field(Decimal(0), ge=0)
    """Likewise in dollars, counting answers whose price is known. 0: no limit."""
    confirm_cost_usd: Decimal = Field(Decimal(0), ge=0)
    """Dollars: the person at the client is asked before a debate that may cost more, where the client offers
    forms. 0: nobody is asked."""
    signing_key: str = Field("", repr=False)
    """The Ed25519 key that signs [receipts](receipts.md): PEM, base64 or hexadecimal. Default: one made on first
    use, in your configuration directory."""
    signing_key_file: str = Field("", repr=False)
    """Path of a file with that key."""
    max_recovery_age_hours: float = Field(24, ge=0, le=8760)
    """Unattended debates whose process is gone are resumed if they were written to in so many hours. 0: none."""
    recovery_concurrency: int = Field(50, ge=1, le=1000)
    """How many debates are resumed at a time."""
    retention_days: int = Field(0, ge=0, le=36_500)
    """A server removes debates that ended so many days ago, as `counterpoint db prune` does: [receipts
    stay](operations.md#retention). 0: none."""
    retention_days_by_owner: Annotated[
        dict[str, Annotated[int, Field(ge=0, le=36_500)]], BeforeValidator(parse_json)
    ] = {}
    """The same for single owners, in place of it. In the environment: as JSON."""
    http_stateless: bool | None = None
    """Whether [`serve --http`](http.md) keeps no sessions, so that any replica answers any request. Default: only on
    PostgreSQL."""
    http_hosts: Annotated[tuple[str, ...], BeforeValidator(split_names)] = ()
    """Hosts that `serve --http` answers for, with a port or for all ports, separated by commas. Others than those of
    this machine need [tokens](http.md#tokens). Default: the one of its address."""
    http_origins: Annotated[tuple[str, ...], BeforeValidator(split_names)] = ()
    """Origins of other sites whose pages may use it, such as `https://app.example.org`. Default: none."""
    max_body: int = Field(4 * 2**20, ge=1_000, le=2**30)
    """Bytes of a request over HTTP, at most. Default: 4 MB."""
    tokens: str = ""
    """Path of a file with the [tokens](http.md#tokens) of those who may use `serve --http`: hashes, owners and scopes.
    Default: they are in the database."""
    oidc_issuer: str = ""
    """The OpenID Connect issuer whose [access tokens](http.md#openid-connect) `serve --http` takes, such as
    `https://id.example.org`. Default: none."""
    oidc_audience: str = ""
    """What those tokens are issued for (`aud`): the name or address of this service at the issuer."""
    oidc_owner_claim: str = Field("sub", min_length=1)
    """The claim that names the owner. Default: `sub`."""
    owner_requests_per_minute: int = Field(1_200, ge=0)
    """Requests over HTTP in a minute, for each owner, at most, to all servers on a database together. Default: 1,200.
    0: no limit."""
    owner_daily_calls: int = Field(0, ge=0)
    """Maximum of requests to models in a day (UTC), for the debates of each [owner](owners.md) alone. 0: no limit."""
    owner_daily_cost_usd: Decimal = Field(Decimal(0), ge=0)
    """Likewise in dollars. 0: no limit."""
    owner_running: int = Field(100, ge=0)
    """Maximum of debates of each owner that run at a time, on all servers of a database together; others wait for their
    turn. Default: 100. 0: no limit."""
    metrics_token: str = Field("", repr=False)
    """What may read [`/metrics`](telemetry.md#prometheus) of `serve --http`. Default: programs of this machine, where
    it serves only those."""
    drain_seconds: float = Field(60, ge=0, le=600)
    """Seconds after SIGTERM for which `serve --http` waits at most for answers of models that are on their way; it asks
    for no more. What starts it must not kill it sooner. Default: `60`."""
    owner: str = Field(LOCAL_OWNER, min_length=1, max_length=200)
    """Whose debates the commands of the terminal see and open; see [Owners](owners.md). Default: `local`."""

    @property
    def database(self) -> str:
        """A path, or an address."""
        if is_address(self.db):
            return self.db
        folder = Path(platformdirs.user_data_dir("counterpoint", appauthor=False))
        return str(Path(self.db or folder / "debates.db").expanduser())

    @classmethod
    def read(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """The settings of this process. The environment wins over the file (`SettingsFile.find`).

        Raises:
            InvalidSettingsError: a value, or the file, cannot be used.
        """
        file = SettingsFile.find(environ)
        values = dict(file.values)
        for name in cls.model_fields:
            if environ.get(PREFIX + name.upper()):
                values.pop(name, None)
                values[cls.file_key(name)] = environ[PREFIX + name.upper()]
        try:
            settings = cls.model_validate(values)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            location = [str(part) for part in first["loc"]]
            variables = {cls.file_key(name): name for name in cls.model_fields}
            variable = PREFIX + variables.get(location[0], location[0]).upper()
            source = variable if environ.get(variable) else file.locate(location[0]) or variable
            reason = first["msg"].removeprefix("Value error, ")
            if first["type"] == "extra_forbidden":
                near = get_close_matches(location[0], variables, 1) if len(location) == 1 else []
                reason = f"there is none of this name; {near[0]} is" if near else "there is none of this name"
            raise InvalidSettingsError(f"The setting {'.'.join(location)} ({source}): {reason}.") from error
        if "://" in settings.db and not is_address(settings.db):
            hint = "Set it to the path of an SQLite file, or to postgresql://user@host/database."
            raise InvalidSettingsError(f"The setting db ({PREFIX}DB) is an address of something else. {hint}")
        return settings

    @property
    def has_retention(self) -> bool:
        """Whether debates of somebody are removed when they are old."""
        return bool(self.retention_days or any(self.retention_days_by_owner.values()))

    def read_db_password(self) -> str:
        """Raises InvalidSettingsError."""
        name = f"The password file {self.db_password_file} ({PREFIX}DB_PASSWORD_FILE)"
        return read_text_file(self.db_password_file, name).rstrip("\r\n")

    @classmethod
    def find_sources(cls, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
        """Where each setting that is not left to its default comes from: a variable, or a file and its line."""
        file, sources = SettingsFile.find(environ), {}
        for name in cls.model_fields:
            key, variable = cls.file_key(name), PREFIX + name.upper()
            if environ.get(variable):
                sources[name] = variable
            elif key in file.values or name in file.values:
                sources[name] = file.locate(key) or file.locate(name)
        return sources

    @classmethod
    def file_key(cls, name: str) -> str:
        """The key of a setting in the settings file."""
        return cls.model_fields[name].alias or name


@dataclass(frozen=True)
class SettingsFile:
    """A file in TOML, or in JSON if its name ends in .json. `path`: "" for none."""

    path: str = ""
    text: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def find(cls, environ: Mapping[str, str]) -> Self:
        """The file that COUNTERPOINT_CONFIG names, or `config.toml` in the user's directory. InvalidSettingsError."""
        path, name = environ.get(PREFIX + "CONFIG", ""), f" ({PREFIX}CONFIG)"
        if not path:
            folder = Path(platformdirs.user_config_dir("counterpoint", appauthor=False))
            path, name = str(folder / "config.toml"), ""
            if not Path(path).is_file():
                return cls()
        name = f"The settings file {path}{name}"
        text = read_text_file(path, name)
        try:
            values = parse_json(text) if path.lower().endswith(".json") else tomllib.loads(text)
        except ValueError as error:
            raise InvalidSettingsError(f"{name} cannot be read: {error}.") from error
        if not isinstance(values, dict):
            raise InvalidSettingsError(f"{name} cannot be read: it must hold an object.")
        return cls(path, text, values)

    def locate(self, key: str) -> str:
        """File and line of a setting; "" if it is not there."""
        line = find_line(self.text, key)
        return f"{self.path}, line {line}" if line else ""


def find_line(text: str, key: str) -> int:
    """The first line that begins with a key, or with its table, in TOML or JSON; 0 for none."""
    pattern = rf"""\s*\[*["']?{re.escape(key)}["']?\s*[=:.\]]"""
    return next((number for number, line in enumerate(text.splitlines(), 1) if re.match(pattern, line)), 0)


def read_text_file(path: str, name: str) -> str:
    """The text of a file in UTF-8. Raises InvalidSettingsError, whose text begins with `name`."""
    try:
        return Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise InvalidSettingsError(f"{name} cannot be read: {reason}.") from error
