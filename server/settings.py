"""Settings: environment variables and a file, parsed once into a frozen object."""

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
    """A setting cannot be used. The text names it and never repeats its value, which may be a key."""


def package_version() -> str:
    try:
        return version("counterpoint-mcp")
    except PackageNotFoundError:  # run from a checkout that was never installed
        return "0"


def data_directory() -> Path:
    return Path(platformdirs.user_data_dir("counterpoint", appauthor=False))


def field(description: str, **options: Any) -> Any:
    """A field with its line in docs/settings.md."""
    return Field(description=description, **options)


class ResearchServer(BaseModel):
    """An MCP server whose tools models may use, in the notation of MCP clients. Unknown keys are ignored.

    Commands, addresses and headers often hold keys: none of them is ever shown.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    command: str = field("The program to run as a child process.", default="", repr=False)
    args: tuple[str, ...] = field("Its arguments.", default=(), repr=False)
    env: dict[str, str] = field(
        "Its environment variables, added to the few that every child gets (`PATH`, `HOME` and the like).",
        default={},
        repr=False,
    )
    cwd: str = field("Its working directory.", default="", repr=False)
    url: str = field(
        "Instead of `command`: the address of a server over streamable HTTP.", default="", repr=False
    )
    headers: dict[str, str] = field("HTTP headers for it, such as `Authorization`.", default={}, repr=False)
    debaters: bool = field("Whether debaters may use it; otherwise only the moderator may.", default=False)
    timeout: float = field("Seconds for its start, and for each call.", default=30, ge=1, le=300)
    tools: tuple[str, ...] | None = field("Names of the tools that may be used. Default: all.", default=None)

    @model_validator(mode="after")
    def check_transport(self) -> Self:
        if bool(self.command) == bool(self.url):
            raise ValueError("set either command or url")
        if self.url and not self.url.lower().startswith(("http://", "https://")):
            raise ValueError("url must begin with http:// or https://")
        return self

    def is_tool_allowed(self, tool: str) -> bool:
        return self.tools is None or "*" in self.tools or tool in self.tools


class ModelPrice(BaseModel):
    """In dollars per million tokens, as providers quote it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Annotated[Decimal, Field(ge=0, le=1_000_000)]
    output: Annotated[Decimal, Field(ge=0, le=1_000_000)]


class Settings(BaseModel):
    """The environment variable is the name in capitals after COUNTERPOINT_; the file's key is `file_key(name)`."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_by_name=True, validate_by_alias=True, hide_input_in_errors=True
    )

    db: str = field("Path of the database. Default: `debates.db` in the user's data directory.", default="")
    models: tuple[str, ...] = field(
        "Models for debates that name none, separated by commas. Default: by the API keys that are set.",
        default=(),
    )
    concurrency: int = field(
        "Maximum of concurrent requests to providers, of all debates together. Default: `64`.",
        default=64,
        ge=1,
        le=1000,
    )
    provider_concurrency: int = field(
        "Maximum of concurrent requests to each provider. Default: `8`.", default=8, ge=1, le=1000
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = field(
        "Level of the log on stderr.", default="WARNING"
    )
    hooks: str = field(
        "Path of a YAML file with actions for events of debates; see [Hooks](hooks.md). Default: none.",
        default="",
    )
    mcp_servers: dict[str, ResearchServer] = field(
        "MCP servers whose tools moderators and debaters may use; see [below](#research-servers). "
        "In the environment: as JSON.",
        default={},
        alias="mcpServers",
    )
    prices: dict[str, ModelPrice] = field(
        "Dollars per million tokens, by model: `{input, output}`. They override litellm's table. In the "
        "environment: as JSON.",
        default={},
    )
    daily_calls: int = field(
        "Maximum of requests to models in a day (UTC), of all debates together, retries included. Debates "
        "pause when it is reached. 0: no limit.",
        default=0,
        ge=0,
    )
    daily_cost_usd: Decimal = field(
        "Likewise in dollars, counting answers whose price is known. 0: no limit.", default=Decimal(0), ge=0
    )
    max_recovery_age_hours: float = field(
        "Unattended debates whose process is gone are resumed here if their last entry is not older than "
        "this. 0: none is resumed.",
        default=24,
        ge=0,
        le=8760,
    )
    recovery_concurrency: int = field("How many debates are resumed at a time.", default=4, ge=1, le=100)

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
        """The servers by name, without those that are disabled."""
        servers = parse_json(value) if isinstance(value, str) else value
        if not isinstance(servers, dict):
            raise ValueError("must be an object of servers by name")  # noqa: TRY004  (pydantic reports it)
        if isinstance(pasted := servers.get("mcpServers"), dict) and len(servers) == 1:
            servers = pasted
        for name in servers:
            if not _SERVER_NAME.fullmatch(name):
                raise ValueError(f"{name[:60]!r} is not a name: use 1 to 40 of a-z, A-Z, 0-9, _ and -")
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
            InvalidSettingsError: a value, or the file, cannot be used.
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
                f"The setting db ({PREFIX}DB) is an address. This release stores debates in an SQLite file: "
                "set it to a path."
            )
        return settings

    @classmethod
    def file_key(cls, name: str) -> str:
        """The key of a setting in the settings file."""
        return cls.model_fields[name].alias or name

    @classmethod
    def describe_error(cls, error: ValidationError) -> str:
        first = error.errors(include_url=False, include_input=False)[0]
        location = [str(part) for part in first["loc"]]
        names = {cls.file_key(name): name for name in cls.model_fields}
        variable = PREFIX + names.get(location[0], location[0]).upper()
        return f"The setting {'.'.join(location)} ({variable}): {first['msg'].removeprefix('Value error, ')}."


def read_settings_file(path: str) -> dict[str, Any]:
    """The keys and values of a file in TOML, or in JSON if its name ends in .json.

    Raises:
        InvalidSettingsError: it cannot be read.
    """
    if not path:
        return {}
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8")
        values = parse_json(text) if path.lower().endswith(".json") else tomllib.loads(text)
        if not isinstance(values, dict):
            raise ValueError("it must hold an object")  # noqa: TRY301, TRY004  (reported as the other errors)
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
        raise ValueError(f"not valid JSON: {error.msg} (line {error.lineno})") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
