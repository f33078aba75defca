"""The outcome of an evaluation as one HTML file: no script, nothing from the network, plots as SVG within it."""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from server.debate.facts.text import clean_line, remove_invisible
from server.evaluation.report import (
    Results,
    describe_arm,
    describe_outcome,
    describe_points,
    describe_setting,
    format_money,
    format_number,
    format_percentage,
)

SIZE, MARGIN = 220, 34  # of a plot, in pixels

STYLE = """
:root { color-scheme: light dark; --line: #8886; --ink: #2a6fb0; --soft: #2a6fb033; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
body { overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .9rem; }
th, td { text-align: left; padding: .3rem .7rem .3rem 0; border-bottom: 1px solid var(--line); }
th, td { vertical-align: top; min-width: 3rem; }
td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.plots { display: flex; flex-wrap: wrap; gap: 1.5rem; } figure { margin: 0; }
figcaption { font-size: .85rem; max-width: 16rem; }
svg { font: 10px system-ui, sans-serif; fill: currentColor; }
.note { border-left: 3px solid #c60; padding-left: .8rem; }
.right { color: #2a7f3f; } .wrong { color: #b03030; }
"""


def render_page(found: Results, notes: Iterable[str] = ()) -> str:
    """`notes`: what is missing, and why."""
    body = [f"<h1>{show(describe_outcome(found))}</h1>", f"<p>{show(describe_setting(found))}</p>"]
    body += [f'<p class="note">{show(note)}</p>' for note in notes]
    if found["questions"]:
        body += [build_arms(found), build_differences(found), build_labels(found), build_plots(found)]
        body += [build_models(found), build_rows(found)]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>Does debating pay?</title><style>{STYLE}</style></head>\n<body>\n"
        + "\n".join(filter(None, body))
        + "\n</body></html>\n"
    )


def show(text: Any) -> str:
    """Text of anybody as words on the page: nothing of it is mark-up, and nothing is unseen."""
    return escape(remove_invisible(str(text)), quote=True)


def build_table(heading: Iterable[str], rows: Iterable[Iterable[str]], *, numbers: Iterable[int] = ()) -> str:
    """`rows`: cells of HTML. `numbers`: the columns of figures."""
    right = frozenset(numbers)
    head = "".join(f"<th>{show(name)}</th>" for name in heading)
    lines = "".join(
        "<tr>"
        + "".join(f"<td{' class=n' if index in right else ''}>{cell}</td>" for index, cell in enumerate(row))
        + "</tr>\n"
        for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n<tbody>{lines}</tbody></table></div>'


def build_arms(found: Results) -> str:
    rows = [
        (
            f"<b>{show(arm)}</b><br>{show(describe_arm(arm))}",
            (
                f"{format_percentage(score['accuracy'])}<br>{format_percentage(score['accuracy_low'])} to "
                f"{format_percentage(score['accuracy_high'])}"
            ),
            format_number(score["brier"]),
            f"{score['calls']:,}",
            f"{score['input_tokens'] + score['output_tokens']:,}",
            show(format_money(score["cost_usd"])),
            f"{score['seconds']:,.0f} s",
        )
        for arm, score in found["arms"].items()
    ]
    heading = ("arm", "right", "Brier", "calls", "tokens", "cost", "time of models")
    return build_table(heading, rows, numbers=range(1, 7))


def build_differences(found: Results) -> str:
    widest = max(abs(one[end]) for one in found["differences"] for end in ("low", "high")) or 0.01
    rows = [
        (
            f"{show(one['arm'])} less {show(one['minus'])}",
            show(describe_points(one["value"], one["low"], one["high"])),
            draw_interval(one, widest),
        )
        for one in found["differences"]
    ]
    told = (
        "<p>How many more of a hundred questions the first arm has right. An interval that crosses the middle is not "
        "clear.</p>"
    )
    return f"<h2>Differences</h2>{told}{build_table(('arms', 'points', ''), rows)}"


def draw_interval(one: Mapping[str, Any], widest: float) -> str:
    """An interval around zero, `widest` to each side."""
    low, value, high = (150 + 140 * one[name] / widest for name in ("low", "value", "high"))
    return (
        '<svg width="300" height="20" role="img" aria-label="interval">'
        '<line x1="150" x2="150" y1="0" y2="20" stroke="var(--line)"/>'
        f'<line x1="{low:.1f}" x2="{high:.1f}" y1="10" y2="10" stroke="var(--ink)" stroke-width="3"/>'
        f'<circle cx="{value:.1f}" cy="10" r="4" fill="var(--ink)"/></svg>'
    )


def build_labels(found: Results) -> str:
    rows = [
        (
            show(arm),
            show(label),
            str(one["items"]),
            format_percentage(one["share"]),
            format_percentage(one["accuracy"]),
        )
        for arm, score in found["arms"].items()
        for label, one in score["labels"].items()
    ]
    told = "<p>How often each label came up, and how often it was right; no answer counts as one drawn by lot.</p>"
    heading = ("arm", "label", "questions", "share", "right")
    return f"<h2>Labels</h2>{told}{build_table(heading, rows, numbers=(2, 3, 4))}"


def build_plots(found: Results) -> str:
    plots = [
        f"<figure>{draw_calibration(score['calibration']['bins'])}<figcaption>{show(arm)}: "
        f"{describe_error(score)}</figcaption></figure>"
        for arm, score in found["arms"].items()
        if score["calibration"]["bins"]
    ]
    told = (
        "<p>How sure each arm was of the option ahead, and how often that was right. On the line, confidence is "
        "earned; below it, the arm was too sure. A larger dot stands for more questions.</p>"
    )
    return f'<h2>Calibration</h2>{told}<div class="plots">{"".join(plots)}</div>' if plots else ""


def describe_error(score: Mapping[str, Any]) -> str:
    return f"calibration error {format_number(score['calibration']['ece'])}"


def draw_calibration(bins: Iterable[Mapping[str, Any]]) -> str:
    """Confidence from left to right, accuracy upwards, both from 0 to 1."""
    bins, inner = list(bins), SIZE - 2 * MARGIN

    def place(x: float, y: float) -> tuple[float, float]:
        return MARGIN + x * inner, SIZE - MARGIN - y * inner

    most = max(one["items"] for one in bins)
    parts = [
        f'<rect x="{MARGIN}" y="{MARGIN}" width="{inner}" height="{inner}" fill="none" stroke="var(--line)"/>'
    ]
    parts += [
        (
            f'<line x1="{MARGIN}" y1="{SIZE - MARGIN}" x2="{SIZE - MARGIN}" y2="{MARGIN}" stroke="var(--line)" '
            'stroke-dasharray="4 3"/>'
        )
    ]
    for tick in (0, 0.5, 1):
        x, y = place(tick, tick)
        parts.append(f'<text x="{x:.0f}" y="{SIZE - MARGIN + 14}" text-anchor="middle">{tick:.0%}</text>')
        parts.append(f'<text x="{MARGIN - 5}" y="{y + 3:.0f}" text-anchor="end">{tick:.0%}</text>')
    points = [place(one["mean_confidence"], one["accuracy"]) for one in bins]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    parts.append(f'<polyline points="{path}" fill="none" stroke="var(--ink)"/>')
    for (x, y), one in zip(points, bins, strict=True):
        told = f"told {one['mean_confidence']:.0%}, right {one['accuracy']:.0%}, {one['items']} questions"
        radius = 3 + 5 * (one["items"] / most) ** 0.5
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="var(--soft)" stroke="var(--ink)">'
            f"<title>{told}</title></circle>"
        )
    parts.append(f'<text x="{SIZE / 2}" y="{SIZE - 4}" text-anchor="middle">confidence</text>')
    parts.append(f'<text x="4" y="{MARGIN - 12}">right</text>')
    return f'<svg width="{SIZE}" height="{SIZE}" role="img" aria-label="calibration">{"".join(parts)}</svg>'


def build_models(found: Results) -> str:
    rows = [
        (show(clean_line(model)), format_percentage(score["accuracy"]), format_number(score["brier"]))
        for model, score in found["alone"].items()
    ]
    heading = ("model", "right", "Brier")
    return f"<h2>Each model alone</h2>{build_table(heading, rows, numbers=(1, 2))}" if rows else ""


def build_rows(found: Results) -> str:
    arms = list(found["arms"])
    rows = [
        (
            show(row["id"]),
            show(row["question"]),
            show(row["options"][row["answer"]]),
            *(show_answer(row, row["arms"][arm]) for arm in arms),
        )
        for row in found["rows"]
    ]
    return f"<h2>Questions</h2>{build_table(('id', 'question', 'right answer', *arms), rows)}"


def show_answer(row: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    """What an arm chose, marked in words and colour; of a debate its label and id."""
    chosen = " or ".join(row["options"][index] for index in answer["chosen"]) or "none"
    kind, mark = ("right", "✓") if answer["chosen"] == [row["answer"]] else ("wrong", "✗")
    kind, mark = (kind, mark) if len(answer["chosen"]) == 1 else ("", "?")
    more = f"<br>{show(answer['label'])}, {show(answer['debate_id'])}" if "debate_id" in answer else ""
    return f'<span class="{kind}">{mark}</span> {show(chosen)}{more}'
