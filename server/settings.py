"""What can be set from outside: environment variables and a TOML file, parsed once into a frozen object."""

import os
import tomllib
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from server.debate.refused import DebateError

PREFIX = "COUNTERPOINT_"


class BadSettings(DebateError):  # noqa: N818  (it is named for what happened)
    """A setting cannot be used. The text names it."""


def release() -> str:
    try:
        return version("counterpoint-mcp")
    except PackageNotFoundError:  # run from a checkout that was never installed
        return "0"


def data_directory() -> Path:
    return Path(platformdirs.user_data_dir("counterpoint", appauthor=False))


class Settings(BaseModel):
    """The environment variable is the name in capitals after COUNTERPOINT_; the TOML key is the name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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
    log_level: Annotated[
        Literal["DEBUG", "INFO", "WARNING", "ERROR"], Field(description="How much is told on stderr.")
    ] = "WARNING"

    @field_validator("models", mode="before")
    @classmethod
    def split(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("log_level", mode="before")
    @classmethod
    def capitals(cls, value: Any) -> Any:
        return value.upper() if isinstance(value, str) else value

    @property
    def database(self) -> str:
        return str(Path(self.db).expanduser()) if self.db else str(data_directory() / "debates.db")

    @classmethod
    def read(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """The settings of this process. The environment wins over the file that COUNTERPOINT_CONFIG names.

        Raises:
            BadSettings: a value, or the file, cannot be used.
        """
        values = from_file(environ.get(PREFIX + "CONFIG", ""))
        for name in cls.model_fields:
            if environ.get(PREFIX + name.upper()):
                values[name] = environ[PREFIX + name.upper()]
        try:
            settings = cls.model_validate(values)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            name = ".".join(str(part) for part in first["loc"])
            raise BadSettings(f"The setting {name} ({PREFIX}{name.upper()}): {first['msg']}.") from error
        if "://" in settings.db:
            raise BadSettings(
                f"The setting db ({PREFIX}DB) is an address, and this release keeps debates in an SQLite "
                "file. Set it to a path."
            )
        return settings


def from_file(path: str) -> dict[str, Any]:
    if not path:
        return {}
    try:
        return tomllib.loads(Path(path).expanduser().read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadSettings(f"The settings file {path} ({PREFIX}CONFIG) cannot be read: {error}.") from error
