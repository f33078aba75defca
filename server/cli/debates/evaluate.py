"""`counterpoint evaluate`: whether debating pays on questions whose answers are known."""

import signal
import sys
from collections.abc import Iterable
from decimal import Decimal
from time import monotonic
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from server.cli import session
from server.debate.facts.setup.options import CacheMode
from server.debate.facts.text import clean_line, format_count, format_dollars
from server.engine.debates import DebateManager
from server.models.registry import choose_default_models
from server.optional import optional_import
from server.settings import Settings

if TYPE_CHECKING:
    from rich.progress import Progress

    from server.evaluation.runner import Evaluation

DOLLARS = click.FloatRange(0, min_open=True)
GO_ON = "Run the same command again to go on: what is recorded is not paid for again."
REDRAW_INTERVAL = 0.2  # seconds


@click.command()
@click.argument("file", metavar="QUESTIONS.jsonl", type=click.File("rb"))
@click.option("--model", "models", multiple=True, help="A model that debates and votes. Repeatable.")
@click.option("--judge", "judges", multiple=True, help="The model of a judge. Repeatable.")
@click.option(
    "--format",
    "formats",
    multiple=True,
    metavar="FORMAT",
    help="A format to measure. Repeatable.  [advocates, second_opinion]",
)
@click.option("--rounds", type=click.IntRange(0, 20), default=0, help="Rounds of talk.")
@click.option("--limit", type=click.IntRange(1), help="How many questions, from the first on.  [all]")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**31 - 1),
    default=1,
    show_default=True,
    help="Another number asks everything again.",
)
@session.cache_option
@click.option(
    "--max-calls", type=click.IntRange(1), help="The most requests to models, earlier runs included."
)
@click.option(
    "--max-cost-usd", "--max-cost", type=DOLLARS, metavar="DOLLARS", help="The most that all of it may cost."
)
@click.option(
    "--at-once", type=click.IntRange(1, 100), default=4, show_default=True, help="Debates at a time."
)
@session.json_option
@click.pass_obj
def evaluate(settings: Settings, /, file: BinaryIO, **options: Any) -> None:
    """Measure on your own questions whether debating pays.

    One model, blind votes, second opinions and debates answer the same questions. Each line of the file is {"id",
    "question", "options": [2 to 26 texts], "answer": index of the right one}. Blind votes take as many tokens as each
    debate took. If it is interrupted, run it again: what was recorded is not paid for twice. A file or a pipe gets
    the report as Markdown.

    Example: counterpoint evaluate questions.jsonl --model openai/gpt-5.6-terra --judge anthropic/claude-sonnet-5-5
    """
    with optional_import():  # no other command needs these
        from server.evaluation.plan import Plan  # noqa: PLC0415
        from server.evaluation.questions import MAX_FILE_BYTES, parse_questions  # noqa: PLC0415
        from server.evaluation.report import render_markdown  # noqa: PLC0415
        from server.evaluation.results import build_results  # noqa: PLC0415
        from server.evaluation.runner import Budget, Evaluation  # noqa: PLC0415

    questions = parse_questions(file.read(MAX_FILE_BYTES + 1))[: options["limit"]]
    budget = Budget(options["max_calls"] or 0, Decimal(str(options["max_cost_usd"] or 0)))
    display = Display()

    async def run(manager: DebateManager) -> Evaluation:
        models = tuple(options["models"]) or choose_default_models(settings.models, manager.environ)
        formats = tuple(options["formats"]) or ("advocates", "second_opinion")
        judges: tuple[str, ...] = tuple(options["judges"])
        cache: CacheMode = options["cache"] or "off"
        plan = Plan(models, judges, formats, options["rounds"], options["seed"], cache=cache)
        work = Evaluation(manager, plan, questions, budget, options["at_once"], on_change=display.update)
        display.announce(work, await work.check())
        with display:
            await work.run()
        return work

    with session.sigterm_as_interrupt() as signals:
        try:
            work = session.run_with_manager(settings, run, makes_database=True)
        except KeyboardInterrupt:
            click.echo(f"\nStopped. {GO_ON}", err=True)
            sys.exit(128 + (signals or [signal.SIGINT])[0])
    results = build_results(work.plan, questions, work.answers)
    results["spent"] = {"calls": work.calls, "cost_usd": f"{work.cost_usd:f}"}
    notes = list_notes(work)
    results["notes"] = notes
    if options["as_json"]:
        click.echo(session.format_json(results))
    elif (out := session.open_terminal()).is_terminal:
        out.print_markdown(render_markdown(results, notes))
    else:
        click.echo(render_markdown(results, notes), nl=False)
    if notes:
        raise click.ClickException(clean_line(f"{' '.join(notes)} {GO_ON}"))


def list_notes(work: "Evaluation") -> list[str]:
    """Notes on missing debates, with the reasons."""
    notes = []
    if work.budget_reason:
        notes.append(f"Stopped: {work.budget_reason}.")
    for (question_id, name), reason in list(work.stopped.items())[:3]:
        notes.append(f"{clean_line(question_id)} ({name}): {clean_line(reason)}")
    if open_count := len(work.jobs) - len(work.answers) - len(work.stopped):
        notes.append(f"{format_count(open_count, 'debate')} not begun.")
    if (unnamed_count := len(work.stopped) - 3) > 0:
        notes.append(f"{format_count(unnamed_count, 'more debate')} not over.")
    return notes


class Display:
    """Announces the estimate, and shows a progress bar if stderr is a terminal."""

    def __init__(self) -> None:
        self.bar: Progress | None = None
        self.drawn_at = 0.0

    def announce(self, work: "Evaluation", expected: Iterable[Any]) -> None:
        """Print the estimate of all debates, before anything is paid."""
        rows = list(expected)
        calls = sum(row.calls for row in rows)
        low, high = (sum(row.input_tokens[end] + row.output_tokens[end] for row in rows) for end in (0, 1))
        costs = [[Decimal(row.cost_usd[end]) for row in rows if row.cost_usd[end]] for end in (0, 1)]
        has_prices = len(costs[0]) == len(rows)
        money = (
            f", {format_dollars(sum(costs[0], Decimal()))} to {format_dollars(sum(costs[1], Decimal()))}"
            if has_prices
            else ", at unknown prices"
        )
        debates = format_count(len(rows), "debate")
        questions = format_count(len(work.questions), "question")
        votes = format_count(len(work.questions) * len(work.plan.voting_formats), "vote")
        about = f"about {calls:,} calls, {low:,} to {high:,} tokens{money}"
        click.echo(
            f"{questions}, {debates} and {votes}: {about}. What is recorded already is free.", err=True
        )

    def __enter__(self) -> None:
        if sys.stderr.isatty():
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

            from server.cli.terminal import Terminal  # noqa: PLC0415

            columns = (BarColumn(20), TextColumn("{task.description}"), TimeElapsedColumn())
            self.bar = Progress(*columns, console=Terminal(sys.stderr), transient=True, auto_refresh=False)
            self.bar.start()
            self.bar.add_task("starting", total=None)

    def __exit__(self, *_: object) -> None:
        if self.bar:
            self.bar.stop()

    def update(self, work: "Evaluation") -> None:
        """Redraw the bar, a few times a second."""
        if self.bar is None or monotonic() - self.drawn_at < REDRAW_INTERVAL:
            return
        self.drawn_at = monotonic()
        done_count, total = len(work.answers), len(work.jobs)
        cost = f", {format_dollars(work.cost_usd)}" if work.cost_usd else ""
        text = f"{done_count} of {format_count(total, 'debate')}, {format_count(work.calls, 'call')}{cost}"
        self.bar.update(self.bar.task_ids[0], description=text, completed=done_count, total=total)
        self.bar.refresh()
