"""Results as text for the model that called, from nothing but their fields."""

from server.debate.facts.quoting import quote, quote_heading
from server.debate.facts.text import format_count
from server.debate.views.awaited import describe_task
from server.debate.views.catalog import format_json
from server.debate.views.markdown import END_REASONS, format_position, format_report, section
from server.debate.views.provenance import describe_provenance
from server.debate.views.state import origin_line
from server.engine.queries import DebateRow
from server.tools.results import (
    DebateListResult,
    DebateResult,
    SteerResult,
    StepResult,
    TurnResult,
    VerdictResult,
    ViewResult,
)

JOINED = "The same call was made minutes ago: this is its debate, and no other was begun. again=true begins another."


def format_verdict_result(result: VerdictResult) -> str:
    """The verdict, or how far it is."""
    if result.headline:
        return "\n\n".join([format_report(result), format_standing(result), *format_ending(result)])
    missing = "No verdict." if result.status in ("concluded", "truncated") else "No verdict yet."
    return "\n\n".join(
        [f"{missing} {format_standing(result)}", *format_background(result), *format_ending(result)]
    )


def format_step_result(result: StepResult) -> str:
    """The verdict, if there is one, else how far the debate is; then what was said in the round."""
    parts = [JOINED] if result.joined else []
    parts += [result.effect] if isinstance(result, TurnResult) and result.effect else []
    parts += [format_standing(result, result.round, result.phase)]
    parts += [format_report(result)] if result.headline else format_background(result)
    parts += [result.framing] if result.framing and result.framing not in result.warnings else []
    parts += [f"Warning: {warning}" for warning in result.warnings if warning not in result.cautions]
    parts += [result.estimate]
    for turn in result.turns:
        recipient = "" if turn.act == "argument" else f", {turn.act} to {turn.to}"
        retracted = ", retracted" if turn.retracted else ""
        title = f"**{turn.agent}** ({quote_heading(turn.stance)}){recipient}{retracted}:"
        parts.append(f"{title}\n{quote(turn.text)}")
    parts += [result.moderator] if result.moderator else []
    parts += [f"**The rules of every turn**\n{result.rules}"] if result.rules else []
    for one in result.awaited:
        prompt = f". The prompt:\n\n{one.prompt}" if one.prompt else ", later"
        parts.append(f"**To write: {one.speaker}** ({describe_task(one)}){prompt}")
    return "\n\n".join([*parts, *format_ending(result)])


def format_steer_result(result: SteerResult) -> str:
    standing = format_standing(result, result.round, result.phase)
    return "\n\n".join([result.effect, standing, result.estimate, *format_ending(result)])


def format_standing(result: DebateResult, round_number: int = 0, phase: str = "") -> str:
    """Status, round and reason in a sentence or two."""
    where = f", round {round_number} ({phase})" if round_number else ""
    at_work = ", at work" if result.working else ""
    ended = result.reason if result.reason in END_REASONS.values() else END_REASONS.get(result.reason)
    reason = f"The talk ended: {ended}." if ended else result.reason
    told = describe_provenance(result.provenance)
    return " ".join(f"Debate {result.debate_id}: {result.status}{at_work}{where}. {reason} {told}".split())


def format_background(result: VerdictResult) -> list[str]:
    """Question, positions and failures of a debate without a verdict, its talk and its cost so far."""
    origin = origin_line(result.mirror_of, result.forked_from, result.forked_at_round)
    sections = [
        *section("Positions", map(format_position, result.positions)),
        *section("Keep in mind", result.cautions),
        *section("Failures", result.failures),
    ]
    question = f"**Question**: {quote_heading(result.question)}"
    rounds, turns = format_count(result.rounds_of_talk, "round"), format_count(result.turn_count, "turn")
    so_far = f"{rounds} of talk so far, {turns}. {result.cost} {result.effort}".rstrip()
    return [part for part in (origin, question, "\n".join(sections).strip(), so_far) if part]


def format_ending(result: DebateResult) -> list[str]:
    """What was left out, where everything stands, and the next call."""
    return [*result.left_out, f"Transcript: {result.transcript_uri}", result.next]


def format_page(result: ViewResult) -> tuple[str, str]:
    """The page as it is, and apart from it how the debate stands and how to go on."""
    page = result.text or format_json(result.data)
    return page, "\n".join([format_standing(result), *format_ending(result)])


def format_debate_list(result: DebateListResult) -> str:
    """A page of debates, one on a line."""
    rows = [*map(format_row, result.debates)] or ["No debate matches."]
    return "\n".join([*rows, *result.left_out, result.next])


def format_row(row: DebateRow) -> str:
    """A debate in a list, the question last."""
    position = row.winner_stance or row.position
    found = " ".join(filter(None, (row.outcome, row.winner, quote_heading(position) if position else "")))
    tags = f"tags: {', '.join(row.tags)}" if row.tags else ""
    when = f"opened {row.opened_at}, changed {row.changed_at}"
    mirror = f"mirror of {row.mirror_of}" if row.mirror_of else ""
    recorded = describe_provenance(row.provenance).rstrip(".")
    recorded = recorded[:1].lower() + recorded[1:]
    parts = (row.status, row.format, mirror, f"round {row.round}", found, tags, when, recorded)
    return f"{row.debate_id}: {', '.join(filter(None, parts))}: {quote_heading(row.question)}"
