"""A database that nobody can write for a while, held by a connection from outside."""

import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager

from storage.addresses import is_address
from tests.support.postgres import find_programs


@contextmanager
def hold_database(database: str) -> Iterator[None]:
    """While this is open every write to a database waits, and is given up after the patience of who writes."""
    if is_address(database):
        with hold_tables(database):
            yield
        return
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("begin immediate")
        yield


@contextmanager
def hold_tables(address: str) -> Iterator[None]:
    programs = find_programs()
    assert programs
    command = [str(programs / "psql"), address, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin
        assert other.stdout
        print(
            "begin; set search_path = counterpoint; lock table lease, stream in exclusive mode; select 'held';",
            file=other.stdin,
            flush=True,
        )
        assert other.stdout.readline() == "held\n"
        yield
        other.stdin.close()
