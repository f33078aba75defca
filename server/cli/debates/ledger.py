"""`counterpoint ledger`: which judges were right, and what their verdicts are worth."""

from collections.abc import Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any, BinaryIO

import click

from server.cli import session
from server.debate.analysis.calibration import Calibration
from server.debate.analysis.confidence import describe_outcome
from server.debate.analysis.debates import format_weight
from server.debate.analysis.evaluation import Evaluation, build_panel, evaluate_panel
from server.debate.analysis.judgments import Judgment
from server.debate.analysis.labelled_csv import LabelledFile, describe_left_out, parse_labelled_csv
from server.debate.analysis.records import JudgeRecord, JudgeStatistics, summarize_ballots, summarize_judges
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.text import clean_line, format_count
from server.debate.interventions.action import InterventionRequest
from server.debate.interventions.outcome import Outcome
from server.debate.views.provenance import describe_provenance
from server.engine.database import ledger as stored
from server.engine.debates import DebateManager
from server.settings import Settings

MAX_FILE_BYTES = 256 * 1024 * 1024
BAR_WIDTH = 40

file_argument = click.argument("file", metavar="FILE.csv", type=click.File("rb"))


@click.group()
def ledger() -> None:
    """The ledger of judges: outcomes, weights, calibration.

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
    found = session.run_with_manager(
        settings,
        lambda manager: stored.import_judgments(
            manager.store.journal, judgments, manager.store.name_ledger(settings.owner)
        ),
        makes_database=True,
    )
    if as_json:
        counted = {"rows": rows, "added": found.added, "changed": found.changed, "left_out": left_out}
        click.echo(session.format_json(counted))
        return
    more = f", {format_count(found.changed, 'judgment')} changed" if found.changed else ""
    told = f"{format_count(rows, 'row')} read, {found.added:,} added{more}. {describe_left_out(left_out)}"
    click.echo(told.rstrip())


@ledger.command()
@session.json_option
@click.pass_obj
def show(settings: Settings, as_json: bool) -> None:
    """Show what is known of each judge.

    Example: counterpoint ledger show --json
    """

    async def read(manager: DebateManager) -> tuple[list[Judgment], dict[str, Any]]:
        ledger = (manager.store.journal, manager.store.name_ledger(settings.owner))
        calibration = dump_calibration(await stored.read_calibration(*ledger))
        return await stored.read_judgments(*ledger), calibration

    judgments, calibration = session.run_with_manager(settings, read)
    judges, ballots = summarize_judges(judgments), summarize_ballots(judgments)
    if as_json:
        rows = [dump_judge(found) for found in judges]
        debaters = [asdict(one) for one in ballots]
        click.echo(session.format_json({"judges": rows, "debaters": debaters, "calibration": calibration}))
        return
    for found in judges:
        click.echo(format_judge(found))
    for held in ballots:
        count = format_count(held.items, "blind ballot")
        click.echo(clean_line(f"{held.model}, as a debater: right in {held.right} of {count}."))
    if not (judges or ballots):
        click.echo(
            "The ledger is empty: no judge that is rated has voted in a debate with an outcome. The embedded model, "
            "fakes such as `scripted` and `caller` are not rated. `counterpoint ledger settle` records an outcome.",
            err=True,
        )
    elif calibration["items"]:
        known = format_count(calibration["items"], "settled item")
        correction = f"log-odds times {calibration['scale']}, plus {calibration['intercept']}"
        click.echo(f"Beliefs are corrected by what {known} show: {correction}.")


@ledger.command()
@file_argument
@click.option(
    "--weights", type=click.Choice(["ledger", "equal"]), default="ledger", show_default=True, help="Of votes."
)
@session.json_option
@click.pass_obj
def evaluate(settings: Settings, file: BinaryIO, weights: str, as_json: bool) -> None:
    """Say what verdicts of the judges in FILE.csv are worth, each item counted as a debate. No model is called.

    Labels with their share and accuracy, baselines, and how good the pooled beliefs are. The columns are those of
    `ledger import`.

    Example: counterpoint ledger evaluate judgments.csv --weights equal
    """
    judgments, _, left_out = read_file(file)
    if left_out:
        click.echo(describe_left_out(left_out), err=True)
    if weights == "equal":
        panel = build_panel(judgments, {})
    else:

        async def read(manager: DebateManager) -> tuple[list[Judgment], Any]:
            ledger = (manager.store.journal, manager.store.name_ledger(settings.owner))
            return await stored.read_judgments(*ledger), await stored.read_calibration(*ledger)

        known, calibration = session.run_with_manager(settings, read)
        records: dict[str, JudgeRecord] = {
            found.record.judge: found.record for found in summarize_judges(known)
        }
        panel = build_panel(judgments, records, calibration)
    found = evaluate_panel(judgments, panel)
    click.echo(session.format_json(dump_evaluation(found)) if as_json else format_evaluation(found))


@ledger.command()
@session.debate_id_argument
@click.argument("truth", metavar="STANCE|DEBATER|none")
@click.option("--why", default="", metavar="TEXT", help="How it is known.")
@click.pass_obj
def settle(settings: Settings, debate_id: str, truth: str, why: str) -> None:
    """Record which position of a debate that is over turned out right; again to correct it.

    Example: counterpoint ledger settle k3x9w2m4p7qr "keep Python" --why "The rewrite was abandoned."
    """
    request = InterventionRequest(to=truth, reason=why)

    async def record(manager: DebateManager, found: str) -> str:
        snapshot, effect = await manager.intervene(found, Outcome.name, request, actor=session.ACTOR)
        told = describe_provenance(snapshot.provenance, len(snapshot.entries))
        hint = "" if snapshot.provenance.counts else f"The ledger uses it after: counterpoint adopt {found}"
        return " ".join(filter(None, (describe_outcome(snapshot.debate), effect, told, hint)))

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


def dump_calibration(calibration: Calibration) -> dict[str, Any]:
    return {"items": calibration.items, "scale": calibration.scale, "intercept": calibration.intercept}


def dump_judge(found: JudgeStatistics) -> dict[str, Any]:
    record, bias = found.record, found.side_bias
    return {
        "judge": record.judge,
        "role": "judge",
        "items": found.items,
        "asked": record.asked,
        "consistent": record.consistent,
        "right": record.right,
        "wrong": record.wrong,
        "weight": format_weight(record.weight),
        "accuracy": round_share(found.accuracy),
        "agreement": round_share(found.agreement),
        "brier": round_share(found.brier),
        "proven": record.is_proven,
        "first_rate": round_share(found.first_rate),
        "side_bias": {"side": bias.side, "excess": round_share(bias.excess)} if bias else None,
        "calibration": dump_calibration(found.calibration),
        "warning": found.warning,
    }


def format_judge(found: JudgeStatistics) -> str:
    record = found.record
    parts = [
        f"weight {format_weight(record.weight)}{' (proven)' if record.is_proven else ''}",
        f"{record.right} right and {record.wrong} wrong of {format_count(record.asked, 'item')}",
    ]
    shares = {
        "readings agree in": found.agreement,
        "Brier score": found.brier,
        "names what stands first in": found.first_rate,
    }
    parts += [f"{name} {float(share):.2f}" for name, share in shares.items() if share is not None]
    warning = f" {found.warning}" if found.warning else ""
    return clean_line(f"{record.judge}: {', '.join(parts)}.{warning}")


def dump_evaluation(found: Evaluation) -> dict[str, Any]:
    pooled = found.pooled
    scores = {
        "brier": pooled.brier,
        "nll": pooled.nll,
        "ece": pooled.ece,
        "accuracy": pooled.accuracy,
        "mean_confidence": pooled.mean_confidence,
    }
    baselines = {
        "majority": {"forced_accuracy": round_share(found.majority)},
        "best_single": {
            "forced_accuracy": round_share(found.best_single),
            "judges": [*found.best_judges],
        },
        "one_order": {"forced_accuracy": round_share(found.one_order)},
    }
    return {
        "items": found.items,
        "judges": len(found.weights),
        "weights": {judge: format_weight(weight) for judge, weight in found.weights.items()},
        "labels": {
            label: {
                "items": score.items,
                "share": round_share(Fraction(score.items, found.items)),
                "right": score.right,
                "accuracy": round_share(score.accuracy),
            }
            for label, score in found.labels.items()
        },
        "forced_accuracy": round_share(found.forced_accuracy),
        "coverage": round_share(found.coverage),
        "baselines": baselines,
        "pooled": {
            "items": pooled.items,
            **{name: round(score, 4) if pooled.items else None for name, score in scores.items()},
            "bins": [
                {
                    "low": one.low,
                    "high": one.high,
                    "items": one.number,
                    "mean_confidence": round(one.mean_belief, 4),
                    "accuracy": round(one.accuracy, 4),
                }
                for one in pooled.bins
            ],
        },
    }


def format_evaluation(found: Evaluation) -> str:
    """The evaluation as lines of text, with a calibration plot where beliefs were given."""
    judges = format_count(len(found.weights), "judge")
    lines = [f"{format_count(found.items, 'item')}, {judges}.", "", "label        share  right"]
    for label, score in found.labels.items():
        accuracy = "     -" if score.accuracy is None else f"{float(score.accuracy):>6.1%}"
        told = f"{score.right} of {score.ahead}" if score.ahead else "no side is ahead"
        lines.append(f"{label:<11} {score.items / found.items:>6.1%} {accuracy}  ({told})")
    best = found.best_judges
    single = f"a single judge, the mean of {len(best)} with the same weight"
    shares = {
        "with a winner": found.coverage,
        "right, where no winner counts one half": found.forced_accuracy,
        "the same of a plain majority": found.majority,
        f"of {f'the judge with the most weight, {best[0]}' if len(best) == 1 else single}": found.best_single,
        "of a majority in one order": found.one_order,
    }
    lines += [
        "",
        *(clean_line(f"{name}: {float(share):.1%}") for name, share in shares.items()),
        "",
        *(f"{clean_line(judge)}: weight {format_weight(weight)}" for judge, weight in found.weights.items()),
    ]
    return "\n".join([*lines, *format_calibration(found)])


def format_calibration(found: Evaluation) -> Sequence[str]:
    pooled = found.pooled
    if not pooled.items:
        return []
    scores = (
        f"(1 - belief)^2 {pooled.brier:.3f}, log loss {pooled.nll:.3f}, calibration error {pooled.ece:.3f}"
    )
    lines = ["", f"pooled beliefs on {format_count(pooled.items, 'item')}: {scores}", ""]
    lines.append("confidence   right  (# right, | told)")
    for one in pooled.bins:
        told = min(BAR_WIDTH - 1, int(one.mean_belief * BAR_WIDTH))
        bar = ["#" if place < round(one.accuracy * BAR_WIDTH) else " " for place in range(BAR_WIDTH)]
        bar[told] = "|"
        lines.append(
            f"{one.mean_belief:>10.0%} {one.accuracy:>7.0%}  {''.join(bar)}  {format_count(round(one.number), 'item')}"
        )
    return lines
