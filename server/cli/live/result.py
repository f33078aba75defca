"""The verdict as a terminal shows it: the lines that say what to do, in a frame."""

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from server.cli.live.events import choose_colour
from server.cli.terminal import QUOTE_MARK, Terminal, parse_bold
from server.debate.answer.lines import list_lines
from server.debate.facts.quoting import unescape_markup
from server.debate.facts.text import clean_line, remove_invisible
from server.debate.views import markdown
from server.debate.views.provenance import describe_provenance
from server.debate.views.verdict import build_report
from server.debate.views.warnings import has_uninformative_decision
from server.engine.database.snapshots import DebateSnapshot

TOO_SMALL_TO_JUDGE = (
    "The embedded model is far too small to judge: what follows shows what a verdict looks like, "
    "and says nothing about the question."
)


def print_summary(snapshot: DebateSnapshot, out: Terminal) -> None:
    """The verdict, if there is one, and how to read the debate again."""
    if markdown.has_result(snapshot.debate):
        out.fit_width()
        out.print_line()
        if has_uninformative_decision(snapshot.debate):
            out.print_wrapped(TOO_SMALL_TO_JUDGE, "! ", "yellow")
            out.print_line()
        print_verdict(out, snapshot)
    if provenance := describe_provenance(snapshot.provenance, len(snapshot.entries)):
        out.print_line(provenance)
    out.print_line(f"\nRead it again: counterpoint show {snapshot.id}")


def print_verdict(out: Terminal, snapshot: DebateSnapshot) -> None:
    """Print the lines that say what to do: on a terminal in a frame, elsewhere as plain text."""
    debate, debate_id = snapshot.debate, snapshot.id
    report = build_report(debate)
    if not out.is_terminal or out.legacy_windows:
        out.print_markdown(markdown.format_report(report, debate_id))
        return
    rows: list[RenderableType] = []
    for line in list_lines(report.answer, debate_id):
        words = parse_bold(remove_invisible(unescape_markup(line.text)))
        words.stylize("dim" if line.is_ours else "")
        rows.append(Text.assemble((f"{clean_line(line.head)}: " if line.head else "", "bold"), words))
    if report.deliverable:
        result = quote_lines(out, report.deliverable)
        rows = [*rows, Text(), result] if report.outcome else [result, Text(), *rows]
    edges = box.ROUNDED if out.has_unicode else box.ASCII
    colour = choose_colour(debate.names, report.winner)
    out.print(Panel(Group(*rows), border_style=colour, box=edges, padding=(1, 2)))


def quote_lines(out: Terminal, words: str) -> Text:
    """Words of a model, each line on the screen marked as such."""
    lines = parse_bold(remove_invisible(unescape_markup(words))).wrap(out, max(out.width - 8, 8))
    quoted_lines = [Text(QUOTE_MARK).append(line) for line in lines]
    return Text("\n").join(quoted_lines)
