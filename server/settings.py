"""What can be set from outside: environment variables and a file, parsed once into a frozen object."""

import json
import os
import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from server.debate.facts.errors import DebateError

PREFIX = "COUNTERPOINT_"

_SERVER_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")


class InvalidSettingsError(DebateError):
    """A setting cannot be used. The text names it."""


def package_version() -> str:
    try:
        return version("counterpoint-mcp")
    except PackageNotFoundError:  # run from a checkout that was never installed
        return "0"


def data_directory() -> Path:
    return Path(platformdirs.user_data_dir("counterpoint", appauthor=False))


class ResearchServer(BaseModel):
    """Another MCP server that models may ask, written as MCP clients write it. What they add is passed over.

    Commands, addresses and headers often hold keys: none of them is ever shown.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    command: Annotated[
        str, Field(repr=False, description="The program that is the server, run as a child.")
    ] = ""
    args: Annotated[tuple[str, ...], Field(repr=False, description="Its arguments.")] = ()
    env: Annotated[
        dict[str, str],
        Field(
            repr=False,
            description="Its environment, besides the little every child gets (`PATH`, `HOME` and the like).",
        ),
    ] = {}
    cwd: Annotated[str, Field(repr=False, description="The directory it runs in.")] = ""
    url: Annotated[
        str, Field(repr=False, description="In place of `command`: where it answers over streamable HTTP.")
    ] = ""
    headers: Annotated[
        dict[str, str],
        Field(repr=False, description="HTTP headers for it, such as `Authorization`."),
    ] = {}
    debaters: Annotated[
        bool, Field(description="Whether debaters may use it too. Without this, only the moderator may.")
    ] = False
    timeout: Annotated[
        float, Field(ge=1, le=300, description="Seconds for its start, and for each call.")
    ] = 30
    tools: Annotated[
        tuple[str, ...] | None, Field(description="Names of the tools that may be used. Default: all it has.")
    ] = None

    @model_validator(mode="after")
    def check_transport(self) -> Self:
        if bool(self.command) == bool(self.url):
            raise ValueError("needs a command, or a url, and not both")
        if self.url and not self.url.lower().startswith(("http://", "https://")):
            raise ValueError("its url has to begin with http:// or https://")
        return self

    def is_tool_allowed(self, tool: str) -> bool:
        return self.tools is None or "*" in self.tools or tool in self.tools


class ModelPrice(BaseModel):
    """In dollars per million tokens, as providers quote it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Annotated[Decimal, Field(ge=0, le=1_000_000)]
    output: Annotated[Decimal, Field(ge=0, le=1_000_000)]


class Settings(BaseModel):
    """The environment variable is the name in capitals after COUNTERPOINT_; the file's key is `key_of` it."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_by_name=True, validate_by_alias=True, hide_input_in_errors=True
    )

    db: Annotated[
        str,
        Field(
            description="Path of the debates' database. Default: `debates.db` in the user's data directory."
        ),
    ] = ""
    models: Annotated[
        tuple[str, ...],
        Field(
            description="Models for debates that name none, by commas. Default: what the keys at hand allow."
        ),
    ] = ()
    concurrency: Annotated[
        int,
        Field(
            ge=1,
            le=1000,
            description="How many requests all debates together may have with providers at a time. "
            "Default: `64`.",
        ),
    ] = 64
    provider_concurrency: Annotated[
        int,
        Field(ge=1, le=1000, description="The same for each provider; others wait their turn. Default: `8`."),
    ] = 8
    log_level: Annotated[
        Literal["DEBUG", "INFO", "WARNING", "ERROR"], Field(description="How much is told on stderr.")
    ] = "WARNING"
    hooks: Annotated[
        str,
        Field(
            description="Path of a YAML file: what to do when something happens in a debate; "
            "see [Hooks](hooks.md). Default: none."
        ),
    ] = ""
    mcp_servers: Annotated[
        dict[str, ResearchServer],
        Field(
            alias="mcpServers",
            description="MCP servers that moderators and debaters may ask; see [below](#research-servers). "
            "In the environment: the same as JSON.",
        ),
    ] = {}

    prices: Annotated[
        dict[str, ModelPrice],
        Field(
            description="Dollars per million tokens, by model: `{input, output}`. They come before litellm's "
            "table. In the environment: as JSON."
        ),
    ] = {}
    daily_calls: Annotated[
        int,
        Field(
            ge=0,
            description="Requests to models that all debates together may make in a day (UTC), retries "
            "included. Debates pause when they are used up. 0: no limit.",
        ),
    ] = 0
    daily_cost_usd: Annotated[
        Decimal,
        Field(ge=0, description="Dollars likewise, of the answers whose price is known. 0: no limit."),
    ] = Decimal(0)
    max_recovery_age_hours: Annotated[
        float,
        Field(
            ge=0,
            le=8760,
            description="Debates that run by themselves and whose process is gone go on in this one, unless "
            "nothing has happened in them for longer than this. 0: none goes on.",
        ),
    ] = 24
    recovery_concurrency: Annotated[
        int, Field(ge=1, le=100, description="How many of them go on at a time.")
    ] = 4

    @field_validator("models", mode="before")
    @classmethod
    def split_names(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("log_level", mode="before")
    @classmethod
    def uppercase_level(cls, value: Any) -> Any:
        return value.upper() if isinstance(value, str) else value

    @field_validator("prices", mode="before")
    @classmethod
    def parse_prices(cls, value: Any) -> Any:
        return parse_json(value) if isinstance(value, str) else value

    @field_validator("mcp_servers", mode="before")
    @classmethod
    def parse_servers(cls, value: Any) -> Any:
        """What is written, without the servers that are switched off."""
        servers = parse_json(value) if isinstance(value, str) else value
        if not isinstance(servers, dict):
            raise ValueError("it has to be an object of servers by name")  # noqa: TRY004  (pydantic reports it)
        if isinstance(pasted := servers.get("mcpServers"), dict) and len(servers) == 1:
            servers = pasted
        for name in servers:
            if not _SERVER_NAME.fullmatch(name):
                raise ValueError(f"{name[:60]!r} is no name: 1 to 40 of the letters a-z, digits, _ and -")
        return {
            name: server
            for name, server in servers.items()
            if not (isinstance(server, dict) and server.get("disabled") is True)
        }

    @property
    def database(self) -> str:
        return str(Path(self.db).expanduser()) if self.db else str(data_directory() / "debates.db")

    @classmethod
    def read(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """The settings of this process. The environment wins over the file that COUNTERPOINT_CONFIG names.

        Raises:
            BadSettings: a value, or the file, cannot be used.
        """
        values = read_settings_file(environ.get(PREFIX + "CONFIG", ""))
        for name in cls.model_fields:
            if environ.get(PREFIX + name.upper()):
                values.pop(name, None)
                values[cls.file_key(name)] = environ[PREFIX + name.upper()]
        try:
            settings = cls.model_validate(values)
        except ValidationError as error:
            raise InvalidSettingsError(cls.describe_error(error)) from error
        if "://" in settings.db:
            raise InvalidSettingsError(
                f"The setting db ({PREFIX}DB) is an address, and this release keeps debates in an SQLite "
                "file. Set it to a path."
            )
        return settings

    @classmethod
    def file_key(cls, name: str) -> str:
        """What a setting is called in the settings file."""
        return cls.model_fields[name].alias or name

    @classmethod
    def describe_error(cls, error: ValidationError) -> str:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        keys = {cls.file_key(name): name for name in cls.model_fields}
        top = str(first["loc"][0])
        said = first["msg"].removeprefix("Value error, ")
        return f"The setting {place} ({PREFIX}{keys.get(top, top).upper()}): {said}."


def read_settings_file(path: str) -> dict[str, Any]:
    """What a file holds, as TOML, or as JSON where its name ends in .json."""
    if not path:
        return {}
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8")
        values = parse_json(text) if path.lower().endswith(".json") else tomllib.loads(text)
        if not isinstance(values, dict):
            raise ValueError("it has to be an object")  # noqa: TRY301, TRY004  (told as the other faults)
    except (OSError, ValueError) as error:
        raise InvalidSettingsError(
            f"The settings file {path} ({PREFIX}CONFIG) cannot be read: {error}."
        ) from error
    return values


def parse_json(text: str) -> Any:
    """Raises ValueError, which does not repeat the text: it may hold keys."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON: {error.msg} (line {error.lineno})") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
