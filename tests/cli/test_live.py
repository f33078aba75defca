"""A debate in a terminal: the board, its keys, and what the terminal is like afterwards."""

import json
import os
import re
import signal
import sys
from functools import partial
from pathlib import Path
from time import monotonic

import pytest
from rich.cells import cell_len

from tests.support.patience import PATIENCE
from tests.support.servers import Cli

if sys.platform == "win32":
    pytest.skip("Windows has no pty", allow_module_level=True)

from tests.support.processes.terminals import DRAWN, TerminalProgram, open_terminal

pytestmark = pytest.mark.requirement("N28")

needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux' list of children")

STARTED = ("debate", "Is tea kinder?", "--no-framing", "--model")
SLOW, ENDLESS = "scripted?delay=0.4", "scripted?delay=60"


def find_id(program: TerminalProgram) -> str:
    found = re.search(r"debate ([2-9a-z]{12})", program.whole)
    assert found, program.whole
    return found[1]


def find_children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize(
    ("columns", "side_by_side", "plain"), [(80, True, ""), (200, True, "1"), (40, False, "")]
)
def test_the_board_fits_every_width_with_colours_and_without(
    database: str, columns: int, side_by_side: bool, plain: str
) -> None:
    with open_terminal(*STARTED, SLOW, database=database, columns=columns, NO_COLOR=plain) as program:
        shown = program.wait_for(
            "[opening]", "Proponent for", "Opponent against", "of 10", "q leave it running"[:9]
        )
        lines = shown.splitlines()
        titles = [line for line in lines if "─ Proponent for" in line]
        assert ("Opponent against" in titles[0]) == side_by_side
        assert max(map(cell_len, lines)) < columns  # the last column stays free
        program.wait_for("✓ opening", "[rebuttal]")
        assert program.wait() == 0
        assert program.is_restored
        assert ("\x1b[1m" in program.written.decode()) != bool(plain)
        whole = program.whole

    assert "q leave" not in whole.replace("\n", "")  # nothing of the board stays
    steps = ["== Round 1: opening", 'Opponent ("against")', "== Round 2: rebuttal", "== Round 3: verdict"]
    assert [whole.index(step) for step in steps] == sorted(whole.index(step) for step in steps)
    assert "Read it again: counterpoint show" in whole


def test_the_lines_that_say_what_to_do_stand_in_a_frame(database: str) -> None:
    with open_terminal(*STARTED, "scripted", "--judges", "2", database=database, lines=120) as program:
        assert program.wait() == 0
        whole = program.whole

    assert re.search(r"│ +Leaning \(2 of 2 judges, 1 family\): ", whole)
    assert re.search(r"│ +How sure: ", whole)
    assert "margin" not in whole.partition("Leaning (2 of 2")[2]


def test_a_resized_terminal_shows_the_board_once_at_its_new_width(database: str) -> None:
    with open_terminal(*STARTED, ENDLESS, database=database, columns=120) as program:
        program.wait_for("[opening]", "╮╭─ Opponent")
        program.resize(50, 30)
        program.wait_for("Opponent against", "p pause")
        until = monotonic() + PATIENCE
        while program.shown.count("Opponent against") != 1 or program.shown.count("p pause") != 1:
            assert monotonic() < until, program.shown
            program.read(0.05)
        assert max(map(cell_len, program.shown.splitlines())) < 50


def test_a_dumb_terminal_gets_plain_lines(database: str) -> None:
    with open_terminal(*STARTED, "scripted", database=database, TERM="dumb") as program:
        assert program.wait() == 0
        assert b"\x1b" not in program.written
        assert "Leaning (1 of 1 judge" in program.whole


def test_a_window_without_room_shows_how_far_it_is(database: str) -> None:
    with open_terminal(*STARTED, SLOW, database=database, columns=300, lines=5) as program:
        program.wait_for("of 10")
        for columns, lines in ((1, 1), (10, 3)):
            program.resize(columns, lines)
            drawn = program.written.count(DRAWN)
            assert program.wait_until(lambda _: program.written.count(DRAWN) > drawn + 1)  # noqa: B023
        assert program.wait() == 0
        assert program.is_restored


def test_p_pauses_and_goes_on(database: str, cli: Cli) -> None:
    with open_terminal(*STARTED, SLOW, database=database) as program:
        program.wait_for("q leave it running")
        program.send("p")
        program.wait_for("paused on request", "p go on")
        debate_id = find_id(program)
        assert json.loads(cli("show", debate_id, "--view", "state", "--json").stdout)["status"] == "paused"
        program.send("p")
        assert program.wait() == 0

    assert "Leaning (1 of 1 judge" in program.whole.partition("Resumed")[2]


def test_n_writes_a_note_and_what_is_pasted_into_it_is_one_line_in_however_many_pieces(
    database: str, cli: Cli
) -> None:
    with open_terminal(*STARTED, ENDLESS, database=database) as program:
        program.wait_for("q leave it running")
        program.send("n")
        program.wait_for("note to all:")
        program.send("qcp\x7f\x1b[A mind the cöst")  # keys that do nothing here, and an arrow
        program.wait_for("note to all: qc mind the cöst")
        program.send("\r")
        program.wait_for("Everybody reads it")
        program.send("n\x1b")  # none after all
        program.wait_until_gone("note to all:")
        program.send("n")
        program.wait_for("note to all:")
        program.paste("Mind the\r\nquay,\tthe\x1b[1m gap\r\n")
        program.wait_for("note to all: Mind the quay, the gap")
        for piece in ("\x1b[20", "0~ and ", "the", " cöst\r", "\x1b[201", "~!\x1b[", "A?\r"):
            program.send(piece)
            program.read(0.05)
        program.wait_until_gone("note to all:")
        debate_id = find_id(program)
        program.send("\x03")
        assert program.wait() == 128 + signal.SIGINT
        program.wait_for(f"Stopped. Continue with: counterpoint debate --continue {debate_id}")
        assert program.is_restored

    log = json.loads(cli("show", debate_id, "--view", "interventions", "--json").stdout)["log"]
    assert [(row["action"], row["text"]) for row in log] == [
        ("inject", "qc mind the cöst"),
        ("inject", "Mind the quay, the gap and the cöst!?"),
    ]


def test_keys_that_were_pressed_while_the_process_was_busy_all_count(database: str, cli: Cli) -> None:
    with open_terminal(*STARTED, ENDLESS, database=database) as program:
        program.wait_for("q leave it running")
        program.send("xnFirst\rnSecond\rp")  # read at once, as they are after a while
        program.wait_for("paused on request", "p go on")
        debate_id = find_id(program)
        program.send("pq")
        assert program.wait() == 0
        program.wait_for("Left running")

    log = json.loads(cli("show", debate_id, "--view", "interventions", "--json").stdout)["log"]
    done = [(row["action"], row["text"]) for row in log]
    assert done == [("inject", "First"), ("inject", "Second"), ("pause", ""), ("resume", "")]


def test_pastes_are_marked_where_stdin_can_only_be_read(database: str) -> None:
    with open_terminal(*STARTED, ENDLESS, database=database, through="sh", redirect="</dev/tty") as program:
        program.wait_for("q leave it running")
        program.paste("cc")
        program.send("q")
        program.wait_for("Left running")
        assert program.is_restored


@pytest.mark.parametrize("is_quick", [False, True], ids=["one-by-one", "before-the-first-is-read"])
def test_c_concludes_when_it_is_pressed_twice(database: str, cli: Cli, is_quick: bool) -> None:
    turns = ("--format", "verdict", "--rounds", "9")
    with open_terminal(*STARTED, "scripted?delay=2", *turns, database=database) as program:
        program.wait_for("[Proponent 1.1]", "q leave it running")
        for do_something_else in (partial(program.send, "x"), partial(program.paste, "c")):
            program.send("c")
            program.wait_for("c again concludes")
            do_something_else()
            program.wait_until_gone("c again concludes")
        if is_quick:
            program.send("cc")
        else:
            program.send("c")
            program.wait_for("c again concludes")
            program.send("c")
        program.wait_for("Answers under way are kept")
        assert program.wait() == 0
        debate_id = find_id(program)

    state = json.loads(cli("show", debate_id, "--view", "state", "--json").stdout)
    assert state["status"] == "concluded"
    assert state["turns"] < 18
    log = json.loads(cli("show", debate_id, "--view", "interventions", "--json").stdout)["log"]
    assert [row["action"] for row in log] == ["conclude"]


def test_a_debate_that_is_left_runs_to_its_end_without_paying_twice(database: str, cli: Cli) -> None:
    with open_terminal(*STARTED, "scripted?delay=0.8", database=database) as program:
        program.wait_for("[opening]", "q leave it running")
        program.paste("squeeze\n")
        program.wait_for("[rebuttal]", "q leave it running")  # it was read
        program.send("qq")
        assert program.wait() == 0
        assert program.is_restored
        program.wait_for("Left running. Watch it: counterpoint watch")
        debate_id = find_id(program)

    watched = cli("watch", debate_id)
    assert "Leaning (1 of 1 judge" in watched.stdout
    state = json.loads(cli("show", debate_id, "--view", "state", "--json").stdout)
    assert (state["status"], state["usage"]["calls"]) == ("concluded", 10)


@needs_proc
def test_the_terminal_is_put_back_when_the_process_of_the_debate_is_killed(database: str) -> None:
    with open_terminal(*STARTED, ENDLESS, database=database) as program:
        program.wait_for("q leave it running")
        assert not program.is_restored
        (child,) = find_children(program.pid)
        os.kill(child, signal.SIGKILL)
        assert program.wait() == 128 + signal.SIGKILL
        program.wait_for("Stopped by signal 9. Continue with: counterpoint debate --continue")
        assert program.is_restored


@needs_proc
def test_the_debate_stops_when_the_process_that_the_shell_waits_for_is_killed(database: str) -> None:
    with open_terminal(*STARTED, ENDLESS, database=database, through="sh") as program:
        program.wait_for("q leave it running")
        (parent,) = find_children(program.pid)
        (child,) = find_children(parent)
        os.kill(parent, signal.SIGKILL)
        program.wait_for("Stopped. Continue with")
        until = monotonic() + PATIENCE
        while Path(f"/proc/{child}").exists():
            assert monotonic() < until
            program.read(0.05)
        assert program.is_restored


def test_hostile_words_stay_in_their_panel(database: str) -> None:
    hostile = "\x1b[2J\x1b]0;owned\x07\u202eevil\u202c ﷽ 👩‍👩‍👧 漢字"
    sides = ["--debater", f"Ada: {hostile}", "--debater", "Ben: tea"]
    with open_terminal(*STARTED, SLOW, *sides, database=database, columns=80) as program:
        shown = program.wait_for("Ada", "Ben tea", "q leave it running")
        assert max(map(cell_len, shown.splitlines())) < 80
        assert program.wait() == 0

    assert not {"\u202e", "\u200d", "\x07"} & set(program.written.decode())
    assert b"\x1b[2J" not in program.written


def test_a_pipe_gets_plain_text_and_its_reader_the_keys(database: str, tmp_path: Path) -> None:
    piped = tmp_path / "piped.txt"
    redirect = f"| cat > '{piped}'"
    with open_terminal(*STARTED, SLOW, database=database, through="sh", redirect=redirect) as program:
        program.wait_for("of 10")
        assert program.is_reading_lines
        while "Read it again" not in piped.read_text():
            assert program.read(0.1)
        assert "q leave" not in program.whole

    assert "\x1b" not in piped.read_text()
    assert "== Round 2: rebuttal" in piped.read_text()
