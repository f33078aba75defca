"""A PostgreSQL server of the tests: started when the first test asks for it, in memory, on a Unix socket."""

import asyncio
import atexit
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import IO
from urllib.parse import urlsplit

import pytest

ACCOUNT = "nobody"
"""Who runs the server where the tests run as root, which it refuses."""

STARTING_SECONDS = 30.0
READY = b"database system is ready to accept connections"
"""What the server logs when it does."""

WITHOUT_SYNC = ("fsync=off", "full_page_writes=off", "synchronous_commit=off")
SETTINGS = (
    "listen_addresses=", "max_connections=200", "shared_buffers=32MB", "autovacuum=off", "max_wal_size=256MB"
)  # fmt: skip


@cache
def find_programs() -> Path | None:
    """The directory of the server's programs, which Debian does not put on the path; None if it is not there."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda one: int(one.parts[-3]))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


class Server:
    """A server in a directory of its own. `settings`: as in postgresql.conf."""

    def __init__(self, *settings: str, folder: Path | None = None) -> None:
        programs = find_programs()
        assert programs
        self.programs = programs
        parent = folder or os.environ.get("PYTEST_DEBUG_TEMPROOT")
        self.directory = Path(tempfile.mkdtemp(prefix="pg", dir=parent))
        self.user: int | None = None
        self.group: int | None = None
        if os.geteuid() == 0:
            entry = pwd.getpwnam(ACCOUNT)
            self.user, self.group = entry.pw_uid, entry.pw_gid
            os.chown(self.directory, self.user, self.group)
            if folder:
                folder.chmod(0o755)
        self.settings = settings
        self.numbers = count()
        self.unneeded: list[str] = []
        self.process: subprocess.Popen[bytes] | None = None
        self.run(
            "initdb", "-D", "data", "-U", "tests", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"
        )

    def run(self, program: str, *arguments: str) -> str:
        command = [str(self.programs / program), *arguments]
        done = subprocess.run(
            command,
            cwd=self.directory,
            capture_output=True,
            text=True,
            check=False,
            user=self.user,
            group=self.group,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self) -> None:
        options = [part for setting in (*SETTINGS, *self.settings) for part in ("-c", setting)]
        command = [str(self.programs / "postgres"), "-D", "data", "-k", str(self.directory), *options]
        self.process = subprocess.Popen(
            command, cwd=self.directory, stderr=subprocess.PIPE, user=self.user, group=self.group
        )
        log = ServerLog(self.process.stderr)
        log.start()
        assert log.is_ready_or_ended.wait(STARTING_SECONDS), "PostgreSQL does not start"
        assert log.is_ready, b"".join(log.first_lines).decode()

    def kill(self) -> None:
        """As a crash does: nothing is written any more."""
        if self.process:
            self.signal(signal.SIGKILL)
            self.process.wait()
            self.process = None
            (self.directory / "data/postmaster.pid").unlink(missing_ok=True)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the server's processes, those that serve connections first."""
        assert self.process
        for process in (*find_children(self.process.pid), self.process.pid):
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(process, number)

    def stop(self) -> None:
        if self.process:
            self.process.send_signal(signal.SIGINT)  # fast: connections are cut
            self.process.wait()
            self.process = None
        shutil.rmtree(self.directory, ignore_errors=True)

    def sql(self, *statements: str, database: str = "postgres") -> str:
        """Run statements as the superuser. Returns the rows, a line each."""
        arguments = [
            "-X",
            "-q",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            "-h",
            str(self.directory),
            "-U",
            "tests",
        ]
        commands = [part for statement in statements for part in ("-c", statement)]
        return self.run("psql", *arguments, "-d", database, *commands).strip()

    def address(self, database: str, user: str = "tests") -> str:
        return f"postgresql://{user}@/{database}?host={self.directory}"

    def create_database(self, template: str = "template0") -> str:
        """The address of a new database; those that are not needed any more are dropped."""
        name = f"test{next(self.numbers)}"
        drops = [f"drop database {one} with (force)" for one in self.unneeded]
        self.unneeded.clear()
        self.sql(*drops, f"create database {name} template {template} strategy file_copy")
        return self.address(name)

    def drop_later(self, address: str) -> None:
        self.unneeded.append(find_name(address))

    def cut_connections(self, address: str) -> None:
        """End all connections to a database."""
        ends = "select pg_terminate_backend(pid) from pg_stat_activity where datname = '{}'"
        self.sql(ends.format(find_name(address)))


def find_name(address: str) -> str:
    """The name of the database of an address."""
    return urlsplit(address).path[1:]


class ServerLog(Thread):
    """Reads what a server logs, to its end: a pipe that nobody reads would stop the server when it is full."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        super().__init__(name="postgres log", daemon=True)
        assert stream
        self.stream = stream
        self.first_lines: list[bytes] = []  # up to the one that says that it is ready
        self.is_ready = False
        self.is_ready_or_ended = Event()

    def run(self) -> None:
        with self.stream:
            for line in self.stream:
                if not self.is_ready:
                    self.first_lines.append(line)
                    self.is_ready = READY in line
                if self.is_ready:
                    self.is_ready_or_ended.set()
        self.is_ready_or_ended.set()


def find_children(parent: int) -> list[int]:
    tasks = Path(f"/proc/{parent}/task/{parent}/children")
    return [int(child) for child in tasks.read_text().split()] if tasks.exists() else []


@cache
def start_shared_server() -> Server:
    """The one that all tests of a process use, with the template of an empty journal."""
    server = Server(*WITHOUT_SYNC)
    atexit.register(server.stop)
    server.start()
    server.sql("create database empty")
    asyncio.run(open_and_close(server.address("empty")))
    return server


async def open_and_close(address: str) -> None:
    from storage.postgres import PostgresStorage  # noqa: PLC0415  (it may be missing)

    await (await PostgresStorage.open(address)).close()


@pytest.fixture(scope="session")
def postgres_server() -> Server:
    if find_programs() is None:
        pytest.skip("PostgreSQL is not installed (Debian: postgresql)")
    return start_shared_server()


@pytest.fixture
def postgres_database(postgres_server: Server) -> Iterator[str]:
    """The address of a database with an empty journal."""
    address = postgres_server.create_database("empty")
    yield address
    postgres_server.drop_later(address)
