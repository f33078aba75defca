"""Statements on a test's database from outside, as somebody with another program might run them."""

import re
import sqlite3
import subprocess
from contextlib import closing
from itertools import count
from typing import Any

from storage.addresses import is_address
from tests.support.postgres import find_programs

WITHOUT_TRIGGERS = "set session_replication_role = replica; set search_path = counterpoint"


def run_raw(database: str, statement: str, *values: str | float) -> list[Any]:
    """Run a statement with a "?" for each value. Returns its rows, texts only from PostgreSQL."""
    if is_address(database):
        return run_psql(database, statement, *values)
    with closing(sqlite3.connect(database)) as raw, raw:
        for trigger in ("journal_no_update", "journal_no_delete"):
            raw.execute(f"drop trigger if exists {trigger}")
        return raw.execute(statement, values).fetchall()


def run_psql(address: str, statement: str, *values: str | float) -> list[Any]:
    programs, numbers = find_programs(), count()
    assert programs
    quoted = [str(value).replace("'", "''") for value in values]
    statement = re.sub(r"\?", lambda _: f"'{quoted[next(numbers)]}'", statement)
    command = [str(programs / "psql"), address, "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1"]
    done = subprocess.run(
        [*command, "-c", WITHOUT_TRIGGERS, "-c", statement], capture_output=True, text=True, check=True
    )
    return [tuple(line.split("\t")) for line in done.stdout.splitlines()]
