"""The verdict as a terminal shows it: the finding in a frame with both readings of each judge, then all else."""

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from server.cli.live.events import find_colour
from server.cli.terminal import QUOTE_MARK, Terminal
from server.debate.facts.beliefs import Vote
from server.debate.facts.events import Judged
from server.debate.facts.quoting import unescape_markup
from server.debate.facts.text import clean_line, remove_invisible
from server.debate.state.debate import Debate, judge_seats
from server.debate.state.seats import current_model
from server.debate.views import markdown
from server.debate.views.provenance import describe_provenance
from server.debate.views.verdict import build_report, visible_judgments
from server.debate.views.warnings import has_uninformative_decision
from server.engine.database.snapshots import DebateSnapshot

MOST_MARGIN = 3
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
        print_verdict(out, snapshot.debate)
    if told := describe_provenance(snapshot.provenance, len(snapshot.entries)):
        out.print_line(told)
    out.print_line(f"\ndebate {snapshot.id}\nRead it again: counterpoint show {snapshot.id}")


def print_verdict(out: Terminal, debate: Debate) -> None:
    """On a terminal the finding stands in a frame; elsewhere all is plain text."""
    report = build_report(debate)
    if not out.is_terminal or out.legacy_windows:
        out.print_markdown(markdown.format_report(report))
        return
    colour = find_colour(debate.names, report.winner)
    parts: list[RenderableType] = [Text(clean_line(report.headline), f"bold {colour}".strip())]
    for words, style in ((report.verdict, ""), (report.reasoning, "dim")):
        if words:
            parts += [Text(), quote_lines(out, words, style)]
    if report.deliverable:
        parts += [Text(), quote_lines(out, report.deliverable, "")]
    if readings := visible_judgments(debate):
        parts += [Text(), build_readings(out, debate, readings)]
    edges = box.ROUNDED if out.has_unicode else box.ASCII
    out.print(Panel(Group(*parts), border_style=colour, box=edges, padding=(1, 2)))
    out.print_markdown(markdown.format_details(report))


def quote_lines(out: Terminal, words: str, style: str) -> Text:
    """Words of a model, each line on the screen marked as such."""
    lines = Text(remove_invisible(unescape_markup(words)), style).wrap(out, max(out.width - 8, 8))
    marked = [Text(QUOTE_MARK).append(line) for line in lines]
    return Text("\n").join(marked)


def build_readings(out: Terminal, debate: Debate, readings: list[Judged]) -> Table:
    """A row for each judge: whom each of its readings found for, by how much, and what that counts as."""
    table = Table(box=box.SIMPLE_HEAD if out.has_unicode else box.ASCII, padding=(0, 1), expand=False)
    slots = sorted({reading.slot_index for reading in readings})
    for title in ("judge", "model", *(f"reading {slot}" for slot in slots), "counts as"):
        table.add_column(title)
    votes = {vote.judge: vote for vote in debate.verdict.votes} if debate.verdict else {}
    for judge in judge_seats(debate.setup):
        own = {reading.slot_index: reading for reading in readings if reading.seat == judge}
        cells = [describe_side(out, debate, own[slot]) if slot in own else Text("none") for slot in slots]
        vote = votes.get(judge)
        model = Text(clean_line(current_model(debate, judge)), "dim")
        table.add_row(Text(judge), model, *cells, describe_vote(debate, vote) if vote else Text("no vote"))
    return table


def describe_vote(debate: Debate, vote: Vote) -> Text:
    """What the readings of a judge count as."""
    if vote.abstains:
        return Text(f"abstains: it {clean_line(vote.abstains)}", "yellow")
    side = "a position made of the others" if vote.for_synthesis else clean_line(vote.winner)
    found = f"{side}, margin {vote.margin}" if side else "no side"
    return Text(found, f"bold {find_colour(debate.names, vote.winner)}".strip())


def describe_side(out: Terminal, debate: Debate, reading: Judged) -> Text:
    """Whom a reading found for, and its margin as squares."""
    if not reading.winner:
        return Text("no side")
    full, empty = ("■", "□") if out.has_unicode else ("#", "-")
    squares = full * reading.margin + empty * (MOST_MARGIN - reading.margin)
    colour = find_colour(debate.names, reading.winner)
    return Text(f"{clean_line(reading.winner)} ", f"bold {colour}".strip()).append(squares, colour)
