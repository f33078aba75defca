"""`python -m docs.screenshots.terminal`: the picture of a verdict in the terminal, of the demo's debate."""

import io
import re
from pathlib import Path

from rich.terminal_theme import MONOKAI

from server.cli.debates.demo import read_recording
from server.cli.live.result import print_verdict
from server.cli.terminal import Terminal

IMAGE = Path(__file__).parents[1] / "images" / "terminal.svg"


def draw() -> str:
    out = Terminal(io.StringIO(), is_terminal=True, environ={"TERM": "xterm-256color"})
    out.width = 84
    out.record = True
    print_verdict(out, read_recording().snapshot)
    drawn = out.export_svg(title="counterpoint debate", theme=MONOKAI, unique_id="verdict")
    return re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL)  # fonts of another host


if __name__ == "__main__":
    IMAGE.parent.mkdir(exist_ok=True)
    IMAGE.write_text(draw(), encoding="utf-8")
    print(IMAGE)  # noqa: T201
