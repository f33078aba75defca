"""What a server needs before it answers: its log, and the open database. Imports neither the engine nor MCP."""

import logging
import math
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from types import FrameType, ModuleType
from typing import TYPE_CHECKING

from server.debate.facts.errors import DebateError
from server.debate.facts.text import clean_line, remove_invisible
from server.optional import MissingPackageError, optional_import
from server.redaction import find_secret_parts, learn_secrets, redact_error
from server.settings import InvalidSettingsError, Settings
from storage import sqlite
from storage.addresses import is_address
from storage.errors import StorageError
from storage.sqlite.connections.database_file import is_missing
from storage.storage import Storage

if TYPE_CHECKING:
    from server.telemetry.pipeline import Telemetry

logger = logging.getLogger(__name__)

DATABASE_PATIENCE = 5.0  # seconds; with a call's `wait_seconds` below the request timeout of clients


def require_database(settings: Settings) -> None:
    """Raises DebateError where there is none: opening one to read from it must not make it."""
    if is_address(settings.database):
        return
    with suppress(OSError):  # opening it says what is wrong
        if is_missing(Path(settings.database)):
            raise DebateError(
                f"There is no database {settings.database}. The first debate makes it; --db or COUNTERPOINT_DB names "
                "another."
            )


def require_packages(settings: Settings) -> None:
    """Raises MissingPackageError for a setting that needs a package which is not there."""
    with optional_import():
        if settings.hooks:
            import server.hooks  # noqa: PLC0415
        if settings.has_retention:
            import server.upkeep  # noqa: F401, PLC0415


@asynccontextmanager
async def open_storage(
    settings: Settings, clock: Callable[[], float] = time.time, *, patience: float = DATABASE_PATIENCE
) -> AsyncIterator[Storage]:
    """The database of the settings.

    `clock`: Unix time, for a database that has none. `patience`: seconds that each call waits for a lock, or for the
    server of the database.

    Raises StorageUnavailableError, InvalidSettingsError.
    """
    learn_secrets(find_secret_parts(settings.db))
    storage: Storage
    try:
        if is_address(settings.database):
            storage = await connect(settings, patience)
        else:
            opening = sqlite.SqliteStorage.open(settings.database, lock_timeout=patience, clock=clock)
            storage = await opening
    except StorageError:
        # It knows all that can be wrong with a record, and so imports the rules of debates.
        from server.engine.database.errors import translate_storage_errors  # noqa: PLC0415

        with translate_storage_errors():
            raise
    try:
        yield storage
    finally:
        await storage.close()


async def upgrade_database(settings: Settings) -> list[str]:
    """Apply the migrations that are missing; returns their names.

    Raises StorageUnavailableError, InvalidSettingsError.
    """
    from server.engine.database.errors import translate_storage_errors  # noqa: PLC0415  (as above)

    with translate_storage_errors():
        if not is_address(settings.database):
            return await sqlite.upgrade(settings.database, lock_timeout=DATABASE_PATIENCE)
        learn_secrets(find_secret_parts(settings.db))
        postgres, password = import_postgres(), find_password(settings)
        names: list[str] = await postgres.upgrade(
            settings.database, password=password, patience=DATABASE_PATIENCE
        )
        return names


async def connect(settings: Settings, patience: float) -> Storage:
    """Raises StorageError, InvalidSettingsError."""
    postgres, password = import_postgres(), find_password(settings)
    storage: Storage = await postgres.PostgresStorage.open(
        settings.database, password=password, patience=patience
    )
    return storage


def import_postgres() -> ModuleType:
    """Raises InvalidSettingsError where the package or its extra is not installed. SQLite does without."""
    try:
        with optional_import():
            import storage.postgres as postgres  # noqa: PLC0415, PLR0402  (names what is missing)
    except ModuleNotFoundError as error:
        hint = "pip install 'counterpoint-mcp[postgres]'"
        raise InvalidSettingsError(
            f"The setting db is an address of PostgreSQL, which needs: {hint}"
        ) from error
    return postgres


def find_password(settings: Settings) -> Callable[[], str] | None:
    """What reads the password of the database. Raises InvalidSettingsError if its file cannot be read now."""
    if not settings.db_password_file:
        return None

    def read() -> str:
        password = settings.read_db_password()
        learn_secrets([password])
        return password

    read()
    return read


def list_signals(environ: Mapping[str, str]) -> list[str]:
    """What the standard variables name a collector for, and do not turn off: traces, metrics."""
    return [signal for signal in ("traces", "metrics") if is_collected(environ, signal)]


def is_collected(environ: Mapping[str, str], signal: str) -> bool:
    name = signal.upper()
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    if environ.get(f"OTEL_{name}_EXPORTER", "").strip().lower() == "none":
        return False
    return any(
        environ.get(variable, "").strip()
        for variable in ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{name}_ENDPOINT")
    )


@contextmanager
def open_telemetry(environ: Mapping[str, str], tools: Collection[str] = ()) -> Iterator["Telemetry | None"]:
    """Spans and metrics for a collector, where the standard variables name one and the extra is installed.

    `tools`: their names. These variables are often set for all programs of a machine: that the extra is
    missing is a warning.
    """
    signals = list_signals(environ)
    if not signals:
        yield None
        return
    try:
        with optional_import():
            from server.telemetry.pipeline import open_pipeline  # noqa: PLC0415
    except (ModuleNotFoundError, MissingPackageError) as error:
        missing = "It needs: pip install 'counterpoint-mcp[otel]'"
        missing = str(error) if isinstance(error, MissingPackageError) else missing
        logger.warning("A collector is set (OTEL_EXPORTER_OTLP_ENDPOINT), and is sent nothing. %s", missing)
        yield None
        return
    with open_pipeline(environ, signals, tools) as telemetry:
        yield telemetry


def handle_hangup(handler: Callable[[int, FrameType | None], object]) -> None:
    """Have a server end when its terminal does, unless it was started to stay (`nohup`)."""
    hangup = getattr(signal, "SIGHUP", None)  # Windows has none
    if hangup and signal.getsignal(hangup) != signal.SIG_IGN:
        signal.signal(hangup, handler)


OWN_CODE, DOORS = ("server.", "storage.", "counterpoint."), ("server.http_server.", "server.web.")
FLOOD_SECONDS = 60.0

OWN_LOGGERS = ("server", "storage", "counterpoint", "mcp")
"""Loggers whose records below WARNING are shown, if `log_level` asks for them."""


def log_to_stderr(settings: Settings) -> None:
    """Log our own records, and warnings of others.

    Other libraries log only warnings. Below that they log whole requests, with the text of debates and
    addresses that hold keys, and fill the stderr pipe of a client that does not read it, which blocks the server.
    """

    def is_shown(record: logging.LogRecord) -> bool:
        return record.levelno >= logging.WARNING or record.name.partition(".")[0] in OWN_LOGGERS

    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(is_shown)
    handler.addFilter(FloodFilter())
    handler.setFormatter(SafeFormatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler], level=settings.log_level)


class FloodFilter(logging.Filter):
    """Passes one warning a minute of those that anybody who sends requests can cause, and says how many it left out.

    These are the ones of other libraries and of the doors of a server, told apart by logger and line of code.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.clock = clock
        self._left_out: dict[tuple[object, ...], tuple[float, int]] = {}  # since when, and how many

    def filter(self, record: logging.LogRecord) -> bool:
        is_own = record.name.startswith(OWN_CODE) and not record.name.startswith(DOORS)
        if is_own or record.levelno < logging.WARNING:
            return True
        place = (record.name, record.pathname, record.lineno, record.exc_info and record.exc_info[0])
        since, number = self._left_out.get(place, (-math.inf, 0))
        if (now := self.clock()) < since + FLOOD_SECONDS:
            self._left_out[place] = (since, number + 1)
            return False
        self._left_out[place] = (now, 0)
        if number:
            record.msg, record.args = f"{record.getMessage()} ({number:,} more since the last such line)", ()
        return True


class SafeFormatter(logging.Formatter):
    """Records as text without secrets, also those of tracebacks; the message of each is one line."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  (the name is logging's)
        record.message = clean_line(record.message)
        return super().formatMessage(record)

    def format(self, record: logging.LogRecord) -> str:
        return redact_error(remove_invisible(super().format(record)))
