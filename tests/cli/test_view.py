"""`counterpoint view`: the address that it prints, the browser that it opens, and how it ends."""

import json
import os
import signal
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from tests.support.processes.viewer import Viewer
from tests.support.servers import Cli

pytestmark = [pytest.mark.requirement("N19")]

SLACK = 8  # seconds, for an exit on a machine that does something else as well


View = Callable[..., Viewer]


@pytest.fixture
def view(database: str) -> Iterator[View]:
    started: list[Viewer] = []

    def start(*arguments: str, **environ: str) -> Viewer:
        started.append(Viewer(database, *arguments, **environ))
        return started[-1]

    yield start
    for viewer in started:
        viewer.kill()


def write_script(folder: Path, line: str) -> Path:
    script = folder / "browser"
    script.write_text(f"#!/bin/sh\n{line}\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return script


def run_debate(cli: Cli) -> str:
    return str(json.loads(cli("debate", "Ship it?", "--model", "scripted", "--json").stdout)["debate_id"])


def test_without_an_id_it_opens_the_list_and_with_a_beginning_of_one_the_debate(cli: Cli, view: View) -> None:
    debate_id = run_debate(cli)
    listed, one = view("--no-open"), view(debate_id[:4], "--no-open")
    assert (listed.page, one.page) == ("", f"debates/{debate_id}")
    assert listed.root.rpartition("/")[0].rpartition("/")[2] != one.root.rpartition("/")[0].rpartition("/")[2]
    for viewer in (listed, one):
        page = httpx2.get(viewer.address)
        assert (page.status_code, debate_id in page.text) == (200, True)
        assert httpx2.get(f"http://127.0.0.1:{viewer.port}/").status_code == 403
        assert httpx2.get(viewer.address, headers={"host": "evil.example"}).status_code == 421


def test_who_begins_in_the_browser_needs_no_debate_before(view: View, database: str) -> None:
    viewer = view("--no-open")
    page = httpx2.get(viewer.address).text
    assert "No debates yet." in page
    assert ' method="get" hidden>' in page  # there is nothing to search
    assert Path(database).exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_within_a_second_with_streams_open(cli: Cli, view: View, number: int) -> None:
    run_debate(cli)
    viewer = view("--no-open")
    with httpx2.Client() as client:
        streams = [client.stream("GET", f"{viewer.root}events") for _ in range(3)]
        for stream in streams:
            assert next(stream.__enter__().iter_lines()).startswith("retry")
        code, told, seconds = viewer.end(number)
        for stream in streams:
            stream.__exit__(None, None, None)
    assert (code, told.split()) == (128 + signal.SIGINT, ["Stopped."])
    assert seconds < 1 + SLACK


@pytest.mark.parametrize("arguments", [["zzzz"], ["abc"], ["%2e%2e"], ["--port", "99999"], ["--port", "x"]])
@pytest.mark.usefixtures("new_database")
def test_what_cannot_be_shown_is_refused_before_anything_is_served(cli: Cli, arguments: list[str]) -> None:
    refused = cli("view", "--no-open", *arguments)
    assert refused.exit_code in (1, 2)
    assert "http" not in refused.stdout
    assert "There is no debate" in refused.stderr or "Invalid value" in refused.stderr


@pytest.mark.usefixtures("new_database")
def test_a_port_is_taken_as_given_and_one_that_is_in_use_is_refused(cli: Cli, view: View) -> None:
    port = view("--no-open").port
    refused = cli("view", "--no-open", "--port", str(port))
    assert (refused.exit_code, refused.stderr) == (
        1,
        f"Error: Port {port} cannot be used: address already in use. Choose another with --port.\n",
    )


def test_the_browser_of_the_environment_is_opened_unless_that_is_unwanted(
    cli: Cli, view: View, tmp_path: Path
) -> None:
    run_debate(cli)
    opened = tmp_path / "opened"
    os.mkfifo(opened)
    script = write_script(tmp_path, f'echo "$1" > {opened}')
    viewer = view(BROWSER=str(script))
    assert opened.read_text().strip() == viewer.address

    closed = view("--no-open", BROWSER=f"{sys.executable} -c 1/0 %s")
    assert httpx2.get(closed.address).status_code == 200
    assert closed.end(signal.SIGINT)[1].split() == ["Stopped."]


@pytest.mark.usefixtures("new_database")
def test_a_browser_that_does_not_return_does_not_keep_it_from_ending(view: View, tmp_path: Path) -> None:
    opened, closed = tmp_path / "opened", tmp_path / "closed"
    for pipe in (opened, closed):
        os.mkfifo(pipe)
    script = write_script(tmp_path, f"exec 2>&- >{opened}; read line <{closed}")
    viewer = view(BROWSER=str(script))
    opened.open().close()  # it has begun
    code, _, seconds = viewer.end(signal.SIGINT)
    closed.write_text("go\n")
    assert (code, seconds < 1 + SLACK) == (128 + signal.SIGINT, True)


def test_the_token_is_in_no_log(cli: Cli, view: View) -> None:
    debate_id = run_debate(cli)
    viewer = view(debate_id, "--no-open", COUNTERPOINT_LOG_LEVEL="DEBUG")
    token = viewer.root.split("/")[3]
    for path in ("", "list", "debates/zzzz", f"debates/{debate_id}/record", "nothing"):
        httpx2.get(viewer.root + path)
    httpx2.post(viewer.root, content=b"x")
    _, told, _ = viewer.end(signal.SIGINT)
    assert token not in told
