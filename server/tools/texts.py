"""Results as text for the model that called, made from their fields alone."""

from server.debate.answer.lines import format_so_far
from server.debate.facts.causes import EndCause
from server.debate.facts.quoting import quote, quote_heading
from server.debate.facts.text import format_count
from server.debate.views.awaited import describe_task
from server.debate.views.catalog import format_json
from server.debate.views.markdown import format_position, format_report, section
from server.debate.views.provenance import describe_provenance
from server.debate.views.state import origin_line
from server.engine.queries import DebateRow
from server.tools.hints import format_call
from server.tools.results import (
    DebateListResult,
    DebateResult,
    SteerResult,
    StepResult,
    TurnResult,
    VerdictResult,
    ViewResult,
)

USUAL_ENDS: tuple[EndCause, ...] = ("phases_held", "max_rounds", "settled", "consensus")
"""Why a talk ends that took its course: nobody acts on it, and an answer is given without it."""

JOINED = "The same call was made minutes ago: this is its debate, and no other was begun. again=true begins another."


def format_verdict_result(result: VerdictResult) -> str:
    """The verdict, or how far it is."""
    if result.answer.head:
        parts = [format_answer(result), format_standing(result), *format_ending(result)]
        return "\n\n".join(filter(None, parts))
    notice = "No verdict." if result.status in ("concluded", "truncated") else "No verdict yet."
    return "\n\n".join(
        [f"{notice} {format_standing(result)}", *format_background(result), *format_ending(result)]
    )


def format_answer(result: VerdictResult) -> str:
    """The lines of an answer, with what weakens it."""
    cautions = [*filter(None, [result.settled]), *result.cautions]
    answer = result.answer.model_copy(update={"keep_in_mind": cautions})
    return format_report(result.model_copy(update={"answer": answer}), result.debate_id)


def format_step_result(result: StepResult) -> str:
    """The verdict, if there is one, else how far the debate is; then what was said in the round."""
    parts = [JOINED] if result.joined else []
    parts += [result.effect] if isinstance(result, TurnResult) and result.effect else []
    standing = format_standing(result, result.round, result.phase)
    if result.answer.head:  # all else was told on the way, or stands in its lines
        parts += [format_answer(result), standing, *format_awaited(result)]
        return "\n\n".join(filter(None, [*parts, *format_ending(result)]))
    parts += [standing, *format_background(result)]
    parts += [result.framing] if result.framing and result.framing not in result.warnings else []
    parts += [f"Warning: {warning}" for warning in result.warnings if warning not in result.cautions]
    parts += [result.estimate] if result.estimate else []
    for turn in result.turns:
        recipient = f", {turn.act} to {turn.to}" if turn.to else ""
        retracted = ", retracted" if turn.retracted else ""
        stance = f" ({quote_heading(turn.stance)})" if turn.stance else f", {turn.act}"
        title = f"**{turn.agent}**{stance}{recipient}{retracted}:"
        parts.append(f"{title}\n{quote(turn.text)}")
    parts += [result.moderator] if result.moderator else []
    return "\n\n".join([*parts, *format_awaited(result), *format_ending(result)])


def format_awaited(result: StepResult) -> list[str]:
    """The turns that the caller has to write."""
    parts = [f"**The rules of every turn**\n{result.rules}"] if result.rules else []
    for awaited in result.awaited:
        prompt = f". The prompt:\n\n{awaited.prompt}" if awaited.prompt else ", later"
        parts.append(f"**To write: {awaited.speaker}** ({describe_task(awaited)}){prompt}")
    return parts


def format_steer_result(result: SteerResult) -> str:
    standing = format_standing(result, result.round, result.phase)
    parts = [result.effect, standing, result.estimate]
    return "\n\n".join([*filter(None, parts), *format_ending(result)])


def format_standing(result: DebateResult, round_number: int = 0, phase: str = "") -> str:
    """Status, round and reason in a sentence or two; "" where an answer says all of it."""
    at_round = f", round {round_number} ({phase})" if round_number else ""
    at_work = ", at work" if result.working else ""
    is_told = (
        isinstance(result, VerdictResult)
        and result.answer.head
        and result.reason.partition(":")[0] in USUAL_ENDS
    )
    reason = f"{result.reason.rstrip('.')}." if result.reason and not is_told else ""
    origin = describe_provenance(result.provenance)
    if is_told and not origin:
        return ""
    return " ".join(
        f"Debate {result.debate_id}: {result.status}{at_work}{at_round}. {reason} {origin}".split()
    )


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
    talk = f"{rounds} of talk so far, {turns}. " if result.positions or result.turn_count else ""
    so_far = f"{talk}{result.cost} {result.effort}".rstrip()
    said = format_so_far(result.answer)
    return [part for part in (said, origin, question, "\n".join(sections).strip(), so_far) if part]


def format_ending(result: DebateResult) -> list[str]:
    """What was left out, the address of the transcript, and the next call."""
    is_next = result.next.startswith(format_call("read_debate", debate_id=result.debate_id))
    transcript = [] if is_next or not result.transcript_uri else [f"Transcript: {result.transcript_uri}"]
    return [*result.left_out, *transcript, f"Next: {result.next}."]


def format_page(result: ViewResult) -> tuple[str, str]:
    """The page as it is, and separately the state of the debate and the next call."""
    page = result.text or format_json(result.data)
    standing = [format_standing(result)] if result.debate_id else []
    return page, "\n".join([*standing, *format_ending(result)])


def format_debate_list(result: DebateListResult) -> str:
    """A page of debates, one on a line."""
    rows = [*map(format_row, result.debates)] or ["No debate matches."]
    return "\n".join([*rows, *result.left_out, f"Next: {result.next}."])


def format_row(row: DebateRow) -> str:
    """A debate in a list, the question last."""
    position = row.winner_stance or row.position
    outcome = " ".join(filter(None, (row.outcome, row.winner, quote_heading(position) if position else "")))
    tags = f"tags: {', '.join(row.tags)}" if row.tags else ""
    times = f"opened {row.opened_at}, changed {row.changed_at}"
    mirror = f"mirror of {row.mirror_of}" if row.mirror_of else ""
    recorded = describe_provenance(row.provenance).rstrip(".")
    recorded = recorded[:1].lower() + recorded[1:]
    parts = (row.status, row.format, mirror, f"round {row.round}", outcome, tags, times, recorded)
    return f"{row.debate_id}: {', '.join(filter(None, parts))}: {quote_heading(row.question)}"
