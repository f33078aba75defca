"""Servers over HTTP, as processes of their own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.http_servers import HttpProcess


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    started: list[HttpProcess] = []

    def begin(*arguments: str, **environ: str) -> HttpProcess:
        started.append(HttpProcess(str(tmp_path / "a.db"), *arguments, environ=environ))
        return started[-1]

    yield begin
    for one in started:
        one.kill()
