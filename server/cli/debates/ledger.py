"""`counterpoint ledger`: which judges were right, and how good their verdicts are."""

from dataclasses import asdict
from fractions import Fraction
from typing import Any, BinaryIO

import click

from server.cli import session
from server.debate.analysis.confidence import describe_outcome
from server.debate.analysis.debates import format_weight
from server.debate.analysis.evaluation import Evaluation, build_panel, evaluate_panel
from server.debate.analysis.judgments import Judgment
from server.debate.analysis.labelled_csv import LabelledFile, describe_left_out, parse_labelled_csv
from server.debate.analysis.records import (
    JudgeRecord,
    JudgeStatistics,
    summarize_advice,
    summarize_ballots,
    summarize_judges,
)
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.text import clean_line, format_count
from server.debate.interventions.action import InterventionRequest
from server.debate.interventions.outcome import Outcome
from server.debate.views.provenance import describe_provenance
from server.debate.views.state import tell_standing
from server.engine.database import ledger as stored
from server.engine.debates import DebateManager
from server.settings import Settings

MAX_FILE_BYTES = 256 * 1024 * 1024

file_argument = click.argument("file", metavar="FILE.csv", type=click.File("rb"))


@click.group()
def ledger() -> None:
    """Say what turned out right, and see who was right how often.

    Example: counterpoint ledger show
    """


@ledger.command("import")
@file_argument
@session.json_option
@click.pass_obj
def import_file(settings: Settings, file: BinaryIO, as_json: bool) -> None:
    """Add labelled judgments from a file with a row for each reading.

    Columns: item, judge, reading (1, 2), choice (empty: none), belief (empty, or 0 to 1, in the choice), gold, first
    (what stood first; empty: unknown) and, optional, family and topic. Rows that are there already add nothing; a row
    with other values replaces the one there.

    Example: counterpoint ledger import judgments.csv
    """
    judgments, rows, left_out = read_file(file)
    result = session.run_with_manager(
        settings,
        lambda manager: stored.import_judgments(
            manager.store.storage.ledger, judgments, manager.store.name_ledger(settings.owner)
        ),
        makes_database=True,
    )
    if as_json:
        data = {"rows": rows, "added": result.added, "changed": result.changed, "left_out": left_out}
        click.echo(session.format_json(data))
        return
    changes = f", {format_count(result.changed, 'judgment')} changed" if result.changed else ""
    text = f"{format_count(rows, 'row')} read, {result.added:,} added{changes}. {describe_left_out(left_out)}"
    click.echo(text.rstrip())


@ledger.command()
@session.json_option
@click.pass_obj
def show(settings: Settings, as_json: bool) -> None:
    """Show the record of each judge.

    Example: counterpoint ledger show --json
    """

    async def read(manager: DebateManager) -> tuple[list[Judgment], dict[str, Any]]:
        ledger = (manager.store.storage.ledger, manager.store.name_ledger(settings.owner))
        calibration = asdict(await stored.read_calibration(*ledger))
        return await stored.read_judgments(*ledger), calibration

    judgments, calibration = session.run_with_manager(settings, read)
    judges, ballots = summarize_judges(judgments), summarize_ballots(judgments)
    advisors = summarize_advice(judgments)
    if as_json:
        data = {
            "judges": [*map(dump_judge, judges)],
            "debaters": [*map(asdict, ballots)],
            "advisors": [*map(asdict, advisors)],
        }
        click.echo(session.format_json(data | {"calibration": calibration}))
        return
    for judge in judges:
        click.echo(format_judge(judge))
    for debater in ballots:
        count = format_count(debater.items, "blind ballot")
        click.echo(clean_line(f"{debater.model}, as a debater: right in {debater.right} of {count}."))
    for advisor in advisors:
        click.echo(
            clean_line(
                f"{advisor.model}, as an advisor: right in {advisor.apart_right} of {advisor.apart} answers by itself, "
                f"in {advisor.after_right} of {advisor.after} after it had read the others."
            )
        )
    if not (judges or ballots or advisors):
        click.echo(
            "The ledger is empty: no model that is rated has advised or judged in a debate with an outcome. "
            "The embedded model, fakes such as `scripted` and `caller` are not rated. "
            "`counterpoint ledger settle` records an outcome.",
            err=True,
        )
    elif calibration["items"]:
        items = format_count(calibration["items"], "settled item")
        correction = f"log-odds times {calibration['scale']}, plus {calibration['intercept']}"
        click.echo(f"Beliefs are corrected by what {items} show: {correction}.")


@ledger.command()
@file_argument
@click.option(
    "--weights",
    type=click.Choice(["ledger", "equal"]),
    default="ledger",
    show_default=True,
    help="What votes weigh: as the ledger says, or all the same.",
)
@session.json_option
@click.pass_obj
def evaluate(settings: Settings, file: BinaryIO, weights: str, as_json: bool) -> None:
    """Measure the verdicts of the judges in FILE.csv. Each item counts as a debate. No model is called.

    Prints labels with their share and accuracy, baselines, and how good the pooled beliefs are. The columns are those
    of `ledger import`.

    Example: counterpoint ledger evaluate judgments.csv --weights equal
    """
    judgments, _, left_out = read_file(file)
    if left_out:
        click.echo(describe_left_out(left_out), err=True)
    if weights == "equal":
        panel = build_panel(judgments, {})
    else:

        async def read(manager: DebateManager) -> tuple[list[Judgment], Any]:
            ledger = (manager.store.storage.ledger, manager.store.name_ledger(settings.owner))
            return await stored.read_judgments(*ledger), await stored.read_calibration(*ledger)

        stored_judgments, calibration = session.run_with_manager(settings, read)
        records: dict[str, JudgeRecord] = {
            statistics.record.judge: statistics.record for statistics in summarize_judges(stored_judgments)
        }
        panel = build_panel(judgments, records, calibration)
    evaluation = evaluate_panel(judgments, panel)
    click.echo(session.format_json(dump_evaluation(evaluation)) if as_json else format_evaluation(evaluation))


@ledger.command()
@session.debate_id_argument
@click.argument("truth", metavar="right|wrong|ADVISOR|STANCE|DEBATER|none")
@click.option("--why", "reason", default="", metavar="TEXT", help="How you know.")
@click.pass_obj
def settle(settings: Settings, debate_id: str, truth: str, reason: str) -> None:
    """Say what turned out right after a debate has ended. Run it again to correct it.

    `right` or `wrong`: the answer that came out. ADVISOR ("Advisor 1"): the answer that this model gave on its own.
    STANCE or DEBATER: that side. `none`: no side.

    Example: counterpoint ledger settle k3x9w2m4p7qr right --why "We did it, and it worked."
    """
    request = InterventionRequest(to=truth, reason=reason)

    async def record(manager: DebateManager, full_id: str) -> str:
        snapshot, effect = await manager.intervene(full_id, Outcome.name, request, actor=session.ACTOR)
        provenance = describe_provenance(snapshot.provenance, len(snapshot.entries))
        hint = "" if snapshot.provenance.counts else f"The ledger uses it after: counterpoint adopt {full_id}"
        return " ".join(filter(None, (describe_outcome(snapshot.debate), effect, provenance, hint)))

    click.echo(clean_line(session.run_with_debate(settings, debate_id, record)))


def read_file(file: BinaryIO) -> LabelledFile:
    """The judgments of a file. Raises InvalidRequestError."""
    content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise InvalidRequestError(f"The file is larger than {MAX_FILE_BYTES >> 20} MB.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InvalidRequestError(f"Line {line}: it is not UTF-8.") from None
    return parse_labelled_csv(text.splitlines(keepends=True))


def round_share(share: Fraction | None) -> float | None:
    return None if share is None else round(float(share), 4)


def dump_judge(statistics: JudgeStatistics) -> dict[str, Any]:
    record = statistics.record
    return {
        "judge": record.judge,
        "asked": record.asked,
        "consistent": record.consistent,
        "right": record.right,
        "wrong": record.wrong,
        "weight": format_weight(record.weight),
        "accuracy": round_share(statistics.accuracy),
        "agreement": round_share(statistics.agreement),
        "proven": record.is_proven,
        "first_rate": round_share(statistics.first_rate),
        "warning": statistics.warning,
    }


def format_judge(statistics: JudgeStatistics) -> str:
    record = statistics.record
    votes = format_count(record.settled, "vote")
    proven = ", proven: it may decide alone" if record.is_proven else ""
    sentences = [
        f"{record.judge}: right in {record.right} of {votes}." if record.settled else f"{record.judge}:",
        f"Weight {float(record.weight):.2f}{proven}.",
    ]
    if statistics.agreement is not None:
        items = format_count(record.asked, "item")
        sentences.append(f"Its two readings agree in {float(statistics.agreement):.0%} of {items}.")
    if statistics.first_rate is not None:
        sentences.append(f"It names the side shown first in {float(statistics.first_rate):.0%} of readings.")
    return clean_line(" ".join([*sentences, statistics.warning]).rstrip())


def dump_evaluation(evaluation: Evaluation) -> dict[str, Any]:
    pooled = evaluation.pooled
    scores = {
        "brier": pooled.brier,
        "nll": pooled.nll,
        "ece": pooled.ece,
        "accuracy": pooled.accuracy,
        "mean_confidence": pooled.mean_confidence,
    }
    baselines = {
        "majority": {"forced_accuracy": round_share(evaluation.majority)},
        "best_single": {
            "forced_accuracy": round_share(evaluation.best_single),
            "judges": [*evaluation.best_judges],
        },
        "one_order": {"forced_accuracy": round_share(evaluation.one_order)},
    }
    return {
        "items": evaluation.items,
        "judges": len(evaluation.weights),
        "weights": {judge: format_weight(weight) for judge, weight in evaluation.weights.items()},
        "labels": {
            label: {
                "items": score.items,
                "share": round_share(Fraction(score.items, evaluation.items)),
                "right": score.right,
                "accuracy": round_share(score.accuracy),
            }
            for label, score in evaluation.labels.items()
        },
        "forced_accuracy": round_share(evaluation.forced_accuracy),
        "coverage": round_share(evaluation.coverage),
        "baselines": baselines,
        "pooled": {
            "items": pooled.items,
            **{name: round(score, 4) if pooled.items else None for name, score in scores.items()},
        },
    }


def format_evaluation(evaluation: Evaluation) -> str:
    """The evaluation as lines of text."""
    judges = format_count(len(evaluation.weights), "judge")
    lines = [f"{format_count(evaluation.items, 'item')}, {judges}.", "", "label        share  right"]
    for label, score in evaluation.labels.items():
        accuracy = "     -" if score.accuracy is None else f"{float(score.accuracy):>6.1%}"
        figures = f"{score.right} of {score.ahead}" if score.ahead else "no side is ahead"
        lines.append(
            f"{tell_standing(label):<11} {score.items / evaluation.items:>6.1%} {accuracy}  ({figures})"
        )
    best = evaluation.best_judges
    single = f"a single judge, the mean of {len(best)} with the same weight"
    shares = {
        "with a winner": evaluation.coverage,
        "right, where no winner counts one half": evaluation.forced_accuracy,
        "the same of a plain majority": evaluation.majority,
        f"of {f'the judge with the most weight, {best[0]}' if len(best) == 1 else single}": evaluation.best_single,
        "of a majority in one order": evaluation.one_order,
    }
    lines += [
        "",
        *(clean_line(f"{name}: {float(share):.1%}") for name, share in shares.items()),
        "",
        *(
            f"{clean_line(judge)}: weight {format_weight(weight)}"
            for judge, weight in evaluation.weights.items()
        ),
    ]
    pooled = evaluation.pooled
    if pooled.items:
        scores = f"(1 - belief)^2 {pooled.brier:.3f}, log loss {pooled.nll:.3f}, calibration error {pooled.ece:.3f}"
        lines += ["", f"pooled beliefs on {format_count(pooled.items, 'item')}: {scores}"]
    return "\n".join(lines)
