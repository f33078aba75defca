"""The commands of the pages about servers, run as a reader copies them: a fresh folder, PostgreSQL and haproxy."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.support.paths import ROOT
from tests.support.patience import PATIENCE, START_PATIENCE
from tests.support.polling import wait_before_next_poll
from tests.support.postgres import WITHOUT_SYNC, Server, find_programs
from tests.support.processes.shells import put_on_path

pytestmark = [pytest.mark.full, pytest.mark.requirement("M7", "N14", "N22")]

PAGES = ("postgresql.md", "http.md", "operations.md")
NOT_RUN = {
    "docker compose": "machines of CI run no containers",
    "kubectl": "there is no cluster",
    "pip install": "there is no release yet: packaging/release.py installs the wheel by its name",
    "sudo": "it changes the machine",
}
"""Commands by their beginnings, and why each cannot be run."""

BLOCK = re.compile(r"^```(sh|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PORTS = ("8080", "8081", "8082", "8443")
HOST = "debates.example.org"
PATH = f"{os.environ['PATH']}:/usr/sbin"


def read_commands(page: str) -> Iterator[list[str]]:
    """Those of each block: a command a line, and what it reads."""
    for kind, text in BLOCK.findall((ROOT / "docs" / page).read_text("utf-8")):
        lines = re.sub(r" \\\n\s*", " ", text).splitlines()
        yield [line[2:] for line in lines if line[:2] == "$ "] if kind == "console" else lines


def build_script(pages: tuple[str, ...]) -> str:
    """It ends when the last command has been run; servers run on."""
    lines: list[str] = []
    for page in pages:
        for block in read_commands(page):
            commands = [line for line in block if not line.startswith(tuple(NOT_RUN))]
            lines.append(f"echo '== {page}: {len(lines)}'")
            for command in commands:
                if command.startswith("counterpoint serve"):  # until it serves, and then Ctrl-C
                    lines += [
                        f"coproc {command}",
                        'read -r line <&"${COPROC[0]}"',
                        "kill $!",
                        "wait $! || true",
                    ]
                else:
                    lines.append(f"{command} &" if "haproxy -f" in command else command)
    return "\n".join(lines)


def test_what_is_not_run_stands_in_the_pages() -> None:
    commands = [line for page in PAGES for block in read_commands(page) for line in block]

    assert [name for name in NOT_RUN if not any(line.startswith(name) for line in commands)] == []


def find_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in sockets]


@pytest.fixture
def environ(tmp_path: Path) -> Iterator[dict[str, str]]:
    """What a reader's terminal has: the program, and `psql` as a superuser. All others need a password."""
    if find_programs() is None or shutil.which("haproxy", path=PATH) is None:
        pytest.skip("needs a program: haproxy, and PostgreSQL")
    programs = tmp_path / "bin"
    programs.mkdir()
    [port] = find_ports(1)
    server = Server(*WITHOUT_SYNC, "listen_addresses=localhost", f"port={port}")
    rules = ("local all tests trust", "host all all localhost scram-sha-256")
    (server.directory / "data" / "pg_hba.conf").write_text("\n".join(rules) + "\n")
    try:
        server.start()
        with put_on_path(programs) as path:
            yield {
                "PATH": f"{path}:/usr/sbin",
                "HOME": str(tmp_path),
                "PGHOST": str(server.directory),
                "PGPORT": str(port),
                "PGUSER": "tests",
                "COUNTERPOINT_OFFLINE": "1",
                "COUNTERPOINT_MODELS": "scripted",
            }
    finally:
        server.stop()


@pytest.mark.parametrize("pages", [("http.md",), PAGES], ids=["on SQLite", "on PostgreSQL"])
def test_the_commands_of_the_pages_run_and_serve_clients_of_both_eras_at_one_port(
    pages: tuple[str, ...], environ: dict[str, str], tmp_path: Path
) -> None:
    ports, folder, told = find_ports(len(PORTS)), tmp_path / "clone", tmp_path / "told"
    shutil.copytree(ROOT / "deploy", folder / "deploy", ignore=shutil.ignore_patterns("secrets", "*.env"))
    before = 'counterpoint debate "Should we move?" --effort quick --model scripted > /dev/null\n'
    script = before + build_script(pages)
    for named, free in zip(PORTS, ports, strict=True):
        script = re.sub(rf"\b{named}\b", str(free), script)
    with told.open("w") as output:
        reader = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=folder,
            env=environ,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        assert reader.wait(5 * START_PATIENCE) == 0
        [token, *_] = re.findall(r"^cpt_\S+$", told.read_text(), re.MULTILINE)
        anyio.run(use_servers, ports[1:3], ports[3], token)
    finally:
        sys.stderr.write(told.read_text())
        with suppress(ProcessLookupError):
            os.killpg(reader.pid, signal.SIGKILL)


async def use_servers(ports: list[int], proxy: int, token: str) -> None:
    """A client of each era, whose requests reach both servers."""
    address = f"https://127.0.0.1:{proxy}/mcp"
    headers = {"host": f"{HOST}:{proxy}", "authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, verify=False, timeout=PATIENCE) as web:
        for place in (*(f"http://127.0.0.1:{port}/readyz" for port in ports), address):
            with anyio.fail_after(START_PATIENCE):
                await wait_until_ready(web, place)
        for era in ("auto", "legacy"):
            async with Client(streamable_http_client(address, http_client=web), mode=era) as client:
                for _ in range(4):
                    ran = await client.call_tool("start_debate", {"question": "Shall we move?", "run": True})
                    assert not ran.is_error, ran.content


async def wait_until_ready(web: httpx2.AsyncClient, address: str) -> None:
    while True:
        with suppress(httpx2.TransportError):
            if (await web.get(address)).status_code < 500:
                return
        await wait_before_next_poll()
