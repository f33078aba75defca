"""Packages that an installation may lack. Who asks for what one of them does is told so in a sentence.

Outside these packages nothing imports them but the composition root and the commands of the terminal, when they are
needed, within `optional_import`.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from server.settings import InvalidSettingsError

PURPOSES = {
    "server.access": "tokens for a server over HTTP",
    "server.evaluation": "evaluation of debates",
    "server.hooks": "hooks",
    "server.http_server": "server over HTTP",
    "server.telemetry": "telemetry",
    "server.upkeep": "upkeep of the database",
    "storage.postgres": "support of PostgreSQL",
}


class MissingPackageError(InvalidSettingsError):
    """What was asked for is done by a package that is not there."""


@contextmanager
def optional_import() -> Iterator[None]:
    """Within it a package is imported that may not be there. Raises MissingPackageError."""
    try:
        yield
    except ImportError as error:
        parts = (error.name or "").split(".")
        package = ".".join(parts[:2])
        if package not in PURPOSES:
            raise
        raise MissingPackageError(
            f"This installation has no {PURPOSES[package]}: it was made without the package {package}. "
            "`pip install --force-reinstall counterpoint-mcp` installs all of them."
        ) from None
