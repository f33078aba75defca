"""What a person sees: text for a terminal, and a debate while it runs."""

import os
import re
import sys
from pathlib import Path

import pytest

from server.cli.live import LiveDisplay
from server.cli.rendering import Screen, last_columns, sanitize_text
from server.debate.commands.open import open_debate
from server.debate.commands.requests import DebateRequest
from server.debate.facts.events import PhaseEntered, Recorded, Spoke, Usage
from server.debate.rules.transitions import replay
from server.engine.store import DebateSnapshot

if sys.platform != "win32":
    import pty

pytestmark = pytest.mark.requirement("M5")

on_a_terminal = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pty")


def case_with(*facts: PhaseEntered | Spoke) -> DebateSnapshot:
    setup = open_debate(DebateRequest(question="Tea?"), models=["scripted"], seed=1)
    events = (setup, *facts)
    log = tuple(Recorded(seq, "", "", "", event) for seq, event in enumerate(events, 1))
    return DebateSnapshot("abc", replay(events), log)


def opening() -> PhaseEntered:
    return PhaseEntered(phase="opening", round=1, order=("Proponent", "Opponent"))


def spoken(text: str) -> Spoke:
    return Spoke(seat="Proponent", round=1, text=text, usage=Usage(model="scripted"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07here", "here"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b2Jx", "x"),
        ("\x1bPq#0\x1b\\x", "x"),
        ("\x1b]never closed", "never closed"),
        ("a\rb\x08c\x00", "abc"),
        ("one\r\n\ttwo", "one\n\ttwo"),
        ("ab\u202edc", "abdc"),
        ("日本 é 👩‍💻", "日本 é 👩‍💻"),
    ],
)
def test_a_terminal_is_shown_text_and_never_orders(text: str, shown: str) -> None:
    assert sanitize_text(text) == shown


def test_markdown_is_readable_without_its_marks() -> None:
    text = "# Title\n\n**Judges**\n- one *two* three four\n1. **five**\n\n"
    text += "\\# no title\n2 * 3 * 4 = 24\n```\n**kept**\n```"

    assert Screen(width=16).render(text).splitlines() == [
        "Title",
        "=====",
        "",
        "Judges:",
        "- one two three",
        "  four",
        "1. five",
        "",
        "# no title",
        "2 * 3 * 4 = 24",
        "    **kept**",
    ]


def test_the_end_of_a_text_is_cut_to_the_columns_it_takes() -> None:
    assert last_columns("abcdef", 3) == "def"
    assert last_columns("日本語", 5) == "本語"
    assert last_columns("ab", 9) == "ab"


def test_the_bar_shows_the_end_of_what_is_being_written(capsys: pytest.CaptureFixture[str]) -> None:
    live = LiveDisplay(Screen(supports_bar=True), show_turns=False, show_bar=True)
    live.on_commit(case_with(opening()))
    for piece in ["Tea is ", "kinder ", "to the\x1b[2J ", "heart than"]:
        live.on_text("abc", "Proponent", piece)
    live.draw()

    shown = capsys.readouterr()
    assert re.fullmatch(r"\r\S+ 0/6 0s opening: Proponent: .*to the heart than", shown.err)
    assert shown.out == ""


def test_a_turn_that_is_recorded_leaves_the_bar_and_is_printed_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    live = LiveDisplay(Screen(supports_bar=True), show_turns=True, show_bar=True)
    live.on_commit(case_with(opening()))
    live.on_text("abc", "Proponent", "Tea is")
    live.on_commit(case_with(opening(), spoken("Tea is kind.")))
    live.draw()
    live.draw()

    shown = capsys.readouterr()
    assert shown.out.count("Tea is kind.") == 1
    assert "1/6 0s opening: asking Opponent" in shown.err


def test_a_debate_with_a_past_begins_with_how_much_was_said(capsys: pytest.CaptureFixture[str]) -> None:
    live = LiveDisplay(Screen(), show_turns=True, show_bar=False)
    live.continue_from(case_with(opening(), spoken("Tea is kind.")))
    live.draw()

    shown = capsys.readouterr().out
    assert "1 turn so far: counterpoint show abc" in shown
    assert "Tea is kind." not in shown


def on_pty(database: Path, **environ: str) -> str:
    """Everything that a debate writes to a terminal 70 columns wide."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update({"COUNTERPOINT_DB": str(database), "COLUMNS": "70", "TERM": "xterm"} | environ)
        arguments = ["debate", "Tea?", "--model", "scripted?delay=0.15"]
        os.execv(sys.executable, [sys.executable, "-m", "counterpoint", *arguments])  # noqa: S606  (a pty needs it)
    written = b""
    try:
        while block := os.read(terminal, 4096):
            written += block
    except OSError:  # how Linux says that the other end is closed
        pass
    finally:
        os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, written
    return written.decode()


@on_a_terminal
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*forkpty.*:DeprecationWarning")  # the child replaces itself at once
def test_on_a_terminal_there_are_colours_and_a_bar_that_is_gone_at_the_end(tmp_path: Path) -> None:
    shown = on_pty(tmp_path / "debates.db")

    assert "\x1b[36m\x1b[1mA. Proponent\x1b[0m" in shown
    assert "asking Proponent, Opponent" in shown
    lines = [line.rpartition("\x1b[2K")[2] for line in shown.split("\r\n")]
    assert not any("asking" in line for line in lines)
    assert max(len(re.sub(r"\x1b\[\d*m", "", line)) for line in lines) <= 70


@on_a_terminal
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*forkpty.*:DeprecationWarning")
@pytest.mark.parametrize("variable", ["NO_COLOR", "TERM"])
def test_colours_can_be_refused(tmp_path: Path, variable: str) -> None:
    shown = on_pty(tmp_path / "debates.db", **{variable: "dumb"})

    assert not re.search(r"\x1b\[\d*m", shown)
    assert ("asking" in shown) == (variable == "NO_COLOR")
