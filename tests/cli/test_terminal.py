"""Output for a terminal, and the live view of a debate."""

import io
import re

import pytest
from rich.cells import cell_len

from server.cli.live.display import LiveDisplay
from server.cli.terminal import QUOTE_MARK, Terminal
from server.debate.commands.setup.open import open_debate
from server.debate.facts.answers import Usage
from server.debate.facts.events import PhaseEntered, Recorded, Spoke
from server.debate.machine.transitions import replay
from server.engine.database.snapshots import DebateSnapshot
from tests.support.simulation import build_request

pytestmark = pytest.mark.requirement("M5")


def snapshot_with(*events: PhaseEntered | Spoke) -> DebateSnapshot:
    setup = open_debate(build_request(question="Tea?"), models=["scripted"], seed=1)
    history = (setup, *events)
    log = tuple(Recorded(seq, "", "", "", event) for seq, event in enumerate(history, 1))
    return DebateSnapshot("abc", replay(history), log)


def phase_entered() -> PhaseEntered:
    return PhaseEntered(phase="opening", round=1, order=("Proponent", "Opponent"))


def spoke(text: str, seat: str = "Proponent") -> Spoke:
    return Spoke(seen=1, seat=seat, round=1, text=text, usage=Usage(model="scripted"))


def printed(source: str, columns: str, monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool = False) -> str:
    monkeypatch.setenv("COLUMNS", columns)
    out = Terminal(io.StringIO(), is_terminal=is_terminal, environ={"TERM": "xterm"})
    out.print_markdown(source)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


KEPT = (
    "x**2 + y**2, 2**n, and (1+i)**(-5) + (1+i)**(-10)",
    "ignore *.py,*.js, src/**, tests/** and a/**/b",
    "f(**a, **b), f(**a,**b), {**a,**{}}",
)


def test_stars_of_products_and_patterns_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    for line in KEPT:
        assert printed(f"> {line}", "80", monkeypatch, is_terminal=True) == f"{QUOTE_MARK}{line}\n"
        assert printed(line, "80", monkeypatch) == f"{line}\n"


def test_bold_words_of_a_model_are_bold_on_a_terminal_and_as_written_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    quoted = "> - **Why:** 这是**重要**的, **bold *it* x**"
    shown = printed(quoted, "80", monkeypatch, is_terminal=True)
    assert [*re.findall(r"\x1b\[1m([^\x1b]*)", shown)] == ["Why:", "重要", "bold *it* x"]
    assert printed(quoted, "80", monkeypatch) == f"{QUOTE_MARK}{quoted[2:]}\n"


def test_markdown_is_readable_without_its_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "# Title\n\n**Judges**\n- one *two* three four five six\n1. **five**\n\n"
    text += "\\# no title\n2 * 3 * 4 = 24\n```\n**kept**\n```"

    assert printed(text, "20", monkeypatch).splitlines() == [
        "Title",
        "=====",
        "",
        "Judges",
        "- one two three four",
        "  five six",
        "1. five",
        "",
        "# no title",
        "2 * 3 * 4 = 24",
        "    **kept**",
    ]


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_model_s_text_is_never_read_as_mark_up(monkeypatch: pytest.MonkeyPatch, is_terminal: bool) -> None:
    text = "[bold red]x[/] [link=http://a]b[/link] :smile: [c](http://d) \x1b]8;;http://x\x1b\\e\x1b]8;;\x1b\\\r\x07f"

    shown = printed(text, "100", monkeypatch, is_terminal=is_terminal)

    assert shown == "[bold red]x[/] [link=http://a]b[/link] :smile: [c](http://d) e\nf\n"


def test_no_line_is_wider_than_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "# 日本語の長い題名がここにありますとても長い\n- " + "word " * 30 + "\n" + "x" * 90

    lines = printed(text, "40", monkeypatch, is_terminal=True).splitlines()

    assert max(cell_len(re.sub(r"\x1b\[\d*m", "", line)) for line in lines) <= 40


def test_on_a_pipe_a_long_path_stays_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    path = "/folder" * 12

    assert printed(f"It is in {path} now.", "40", monkeypatch).splitlines() == ["It is in", path, "now."]


def build_display(*, show_turns: bool, has_bar: bool) -> tuple[LiveDisplay, io.StringIO]:
    stream = io.StringIO()
    out = Terminal(stream, is_terminal=True, environ={"TERM": "xterm", "NO_COLOR": "1"})
    return LiveDisplay(out, bar=out if has_bar else None, show_turns=show_turns), stream


def test_the_panel_of_a_seat_shows_what_it_is_writing() -> None:
    display, stream = build_display(show_turns=True, has_bar=True)
    display.on_commit(snapshot_with(phase_entered()))
    for piece in ["Tea is ", "kinder ", "to the\x1b[2J ", "heart than"]:
        display.on_text("abc", "Proponent", piece)
    display.draw()

    assert "Tea is kinder to the heart than" in stream.getvalue()
    assert "\x1b[2J" not in stream.getvalue()


def test_a_turn_stands_on_the_board_and_is_printed_once_when_its_round_is_over() -> None:
    display, stream = build_display(show_turns=True, has_bar=True)
    opening = (phase_entered(), spoke("Tea is kind."), spoke("Coffee is brave.", "Opponent"))
    display.on_commit(snapshot_with(*opening[:1]))
    display.on_text("abc", "Proponent", "Tea is")
    display.on_commit(snapshot_with(*opening[:2]))
    display.draw()
    display.draw()

    assert stream.getvalue().count("Tea is kind.") == 1
    assert "│ [Proponent 1.1] Tea is kind." in stream.getvalue()
    assert "1 of 6" in stream.getvalue()

    stream.truncate(0)
    rebuttal = PhaseEntered(phase="rebuttal", round=2, order=("Proponent", "Opponent"))
    display.on_commit(snapshot_with(*opening, rebuttal))
    display.draw()
    display.draw()

    assert stream.getvalue().count("Tea is kind.") == 1
    assert stream.getvalue().index("Coffee is brave.") < stream.getvalue().index("[rebuttal]")


class TerminalStream(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environ", "styles", "redraws"),
    [
        ({"TERM": "xterm"}, True, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False, True),
        ({"TERM": "dumb"}, False, False),
    ],
)
def test_colours_can_be_refused(environ: dict[str, str], styles: bool, redraws: bool) -> None:
    stream = TerminalStream()
    out = Terminal(stream, environ=environ)

    out.print_wrapped("text", style="bold red")

    assert ("\x1b[" in stream.getvalue()) == styles
    assert (LiveDisplay(out, bar=out).bar is not None) == redraws


@pytest.mark.requirement("C21")
def test_events_and_what_is_being_written_show_names_in_place_of_code_words() -> None:
    label = snapshot_with().debate.setup.labels[1]
    snapshot = snapshot_with(phase_entered(), spoke(f"I am not {label}."))
    out = Terminal(io.StringIO(), is_terminal=True, environ={"TERM": "xterm"})
    display = LiveDisplay(out, bar=out)
    display.on_commit(snapshot)
    display.draw()
    display.on_text("abc", "Opponent", f"As {label} I say")

    written = out.file.getvalue()  # type: ignore[attr-defined]  # a StringIO
    with out.capture() as capture:
        out.print(display.build_board(100, 40))

    assert "I am not Opponent." in written
    assert "As Opponent I say" in capture.get()
    assert label not in written + capture.get()
