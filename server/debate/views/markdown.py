"""Debates as Markdown, for people and for assistants: the transcript, a round, the verdict."""

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from server.debate.facts.events import (
    Audited,
    EndCause,
    Opened,
    Recorded,
    RoundClosed,
    RoundOpened,
    Spoke,
)
from server.debate.facts.interventions import TextIntervention
from server.debate.facts.state import Debate, RoundPlan, seat_kind
from server.debate.facts.text import count_bytes, format_count, shorten_to_bytes
from server.debate.prompts.transcript import debater_letter, lettered_debaters
from server.debate.rules.budget import estimate
from server.debate.rules.decide import status
from server.debate.views.state import UsageSum, fork_origin_line, is_visible, status_reason, sum_usage
from server.debate.views.verdict import Verdict, build_verdict, visible_judgments
from server.debate.views.warnings import failure_lines

VERDICT_LIMIT = 4_000
"""Bytes: what a verdict, or any other answer of a tool, may take of an assistant's context."""

OUTCOME_TEXTS = {
    "decided": "Decided",
    "leaning": "Leaning",
    "contested": "Contested: no side prevailed",
    "undecided": "Undecided",
}

END_CAUSE_TEXTS: dict[EndCause, str] = {
    "max_rounds": "the last round was held",
    "max_turns": "the last turn was spoken",
    "settled": "the moderator settled it",
    "moderator_done": "the moderator ended the talk",
    "terminate_when": "its condition for ending was met",
}
"""Why a talk was over, in words; other reasons are words already."""

_BLOCK_MARKUP = re.compile(r"^( {0,3})(#|=+[ \t]*$|-+[ \t]*$|<|```|~~~)")
"""What begins a heading, underlines one, or opens a block that may swallow what follows: mark-up, code."""


def render_transcript(debate: Debate, log: Sequence[Recorded], since_round: int = 0) -> str:
    """Everything said from a round on, then the verdict if there is one."""
    parts = [f"# {format_heading(debate.setup.question)}"]
    if since_round <= 1:
        parts += [
            f"- **{letter}. {d.name}**: {format_heading(d.stance)}" for letter, d in lettered_debaters(debate)
        ]
        parts.append(
            f"\nFormat {debate.setup.format}, opened {log[0].at}. {fork_origin_line(debate)}".rstrip()
        )
    for entered in debate.rounds:
        if entered.round >= since_round:
            parts.append(f"\n## Round {entered.round}: {entered.phase}")
            parts += round_lines(debate, entered.round)
    if has_result(debate):
        parts.append("\n" + render_verdict(debate))
    elif status_reason(debate):
        parts.append(f"\n*{status(debate)}: {format_heading(status_reason(debate))}*")
    return "\n".join(parts) + "\n"


def round_lines(debate: Debate, round_number: int) -> list[str]:
    lines = round_plan_lines(debate, round_number)
    lines += [
        f"\n*{ballot.seat} votes for {ballot.choice or 'no side'}: {format_heading(ballot.reasoning)}*"
        for ballot in debate.round_ballots(round_number)
        if is_visible(debate, seat_kind(ballot.seat))
    ]
    if is_visible(debate, "debaters"):
        lines += [turn_block(debate, turn) for turn in debate.transcript_turns(round_number)]
        # Where the next speaker was drawn, the failure below says so.
        lines += [
            f"\n*{made.seat} hands over to {made.to}.*"
            for made in debate.handoffs
            if made.round == round_number and made.because == "chosen"
        ]
    texts = debate.find_interventions(TextIntervention)
    lines += [text_block(made) for made in texts if max(made.round, 1) == round_number]
    lines += review_lines(debate, round_number)
    for judged in visible_judgments(debate):
        if judged.round == round_number:
            found = f"for {judged.winner}, margin {judged.margin}" if judged.winner else "for no side"
            lines.append(
                f"\n### {judged.seat}, reading {judged.slot_index}: {found}\n\n{escape_block_markup(judged.verdict)}"
            )
    for failure in debate.all_failures:
        if failure.round == round_number:
            lines.append(f"\n*{failure.seat} failed: {format_heading(failure.detail)}*")
    return lines


def turn_block(debate: Debate, turn: Spoke) -> str:
    cut = " *(cut at the length limit)*" if turn.cut else ""
    letter = debater_letter(debate, turn.seat)
    stance = format_heading(debate.debater(turn.seat).stance)
    whom = "" if turn.act == "argument" else f", {turn.act} to {turn.to}"
    title = f"\n### {letter}. {turn.seat} ({stance}){whom}"
    if not debate.is_active(turn):
        struck = "\n".join(f"~~{line}~~" if line.strip() else "" for line in turn.text.splitlines())
        return f"{title}, retracted\n\n{escape_block_markup(struck)}"
    return f"{title}\n\n{escape_block_markup(turn.text)}{cut}"


def round_plan_block(round_plan: RoundPlan) -> str:
    lines = ["\n### Moderator", f"\nSpeakers: {', '.join(round_plan.next_speakers) or 'nobody'}."]
    if not isinstance(round_plan, RoundOpened):
        return "\n".join([*lines, f"\n*{format_heading(round_plan.reason)}*"])
    if round_plan.briefing:
        lines.append(f"\n**Briefing**\n\n{escape_block_markup(round_plan.briefing)}")
    if round_plan.new_angle:
        lines.append(f"\n**New angle**\n\n{escape_block_markup(round_plan.new_angle)}")
    return "\n".join(lines) + ("\n\n*The last round.*" if round_plan.done else "")


def round_summary_block(round_summary: RoundClosed) -> str:
    status = "SETTLED" if round_summary.settled else "CONTINUE"
    text = (
        f"\n### Moderator's summary\n\n{escape_block_markup(round_summary.summary)}\n\n**Status**: {status}"
    )
    return (
        f"{text}\n\n**Decision**: {escape_block_markup(round_summary.decision)}"
        if round_summary.decision
        else text
    )


def audit_block(audited: Audited) -> str:
    return f"\n### Referee\n\n{escape_block_markup(audited.text)}"


def text_block(made: TextIntervention) -> str:
    return f"\n### {made.title} to {made.to or 'everybody'}\n\n{escape_block_markup(made.text)}"


def format_heading(text: str) -> str:
    """Text that stays in its heading: on one line, of 200 characters at most. Mark-up within it is left."""
    line = " ".join(text.split())
    return line if len(line) <= 200 else line[:199] + "…"  # noqa: PLR2004  (a heading)


def escape_block_markup(text: str) -> str:
    """Text of a model's, kept from posing as headings of the document it stands in, or hiding them."""
    return "\n".join(_BLOCK_MARKUP.sub(r"\1\\\2", line) for line in text.splitlines())


def render_moderation(debate: Debate, round_number: int) -> str:
    """What the moderator and the referee said in a round."""
    return "\n".join([*round_plan_lines(debate, round_number), *review_lines(debate, round_number)]).strip()


def round_plan_lines(debate: Debate, round_number: int) -> list[str]:
    """How the moderator opened a round."""
    if not is_visible(debate, "moderator"):
        return []
    return [round_plan_block(opened) for opened in debate.round_plans if opened.round == round_number]


def review_lines(debate: Debate, round_number: int) -> list[str]:
    """What the referee and the moderator said of a round when its turns were over."""
    lines = []
    if is_visible(debate, "referee"):
        lines += [audit_block(audited) for audited in debate.audits if audited.round == round_number]
    if is_visible(debate, "moderator"):
        lines += [
            round_summary_block(closed) for closed in debate.round_summaries if closed.round == round_number
        ]
    return lines


def has_result(debate: Debate) -> bool:
    """Whether there is something to show at the end, be it why a result could not be made."""
    given_up = debate.ended is not None and bool(build_verdict(debate).deliverable_problem)
    return given_up or debate.verdict is not None or debate.deliverable is not None


def render_verdict(debate: Debate, max_bytes: int = VERDICT_LIMIT) -> str:
    """The outcome in less than so many bytes: finding, votes, dissent, what weakens it, what it cost."""
    found = build_verdict(debate)
    tail = [
        *section("Judges" if debate.judgments else "Votes", found.votes),
        *section("Ballots", found.ballots),
        *section("Dissent", found.dissent[:3]),
        *section("Keep in mind", found.cautions),
        *section("Failures", failure_lines(debate)[:4]),
    ]
    if found.deliverable_problem:
        tail += section("No result in the shape asked for", [found.deliverable_problem])
    last = f"\n{talk_summary_line(debate)}{cost_line(sum_usage(debate.usage))}"
    ended = "\n".join(tail)
    body = f"## {verdict_heading(debate, found)}"
    if found.verdict:
        body += f"\n\n{escape_block_markup(shorten_to_bytes(found.verdict, 700))}"
    room = max_bytes - count_bytes(body) - count_bytes(ended) - count_bytes(last) - 10
    if found.deliverable:
        result = deliverable_block(debate, found.deliverable, room)
        body += result
        room -= count_bytes(result)
    if found.reasoning and room > 100:  # noqa: PLR2004  (less is no reasoning)
        body += "\n\n" + escape_block_markup(shorten_to_bytes(found.reasoning, room))
    return shorten_to_bytes(f"{body}\n{ended}", max_bytes - count_bytes(last) - 2) + "\n" + last


def verdict_heading(debate: Debate, verdict: Verdict) -> str:
    if not verdict.outcome:
        return "Result"
    told = OUTCOME_TEXTS.get(verdict.outcome, verdict.outcome)
    if verdict.winner:
        told += f": {format_heading(verdict.winner_stance)} ({debater_letter(debate, verdict.winner)}. {verdict.winner})"
    return f"Verdict: {told}"


def talk_summary_line(debate: Debate) -> str:
    told = f"{format_count(debate.held_round_count, 'round')} of talk, {format_count(len(debate.turns), 'turn')}. "
    if debate.ended:
        told += f"The talk ended: {END_CAUSE_TEXTS.get(debate.ended.cause, format_heading(debate.ended.reason))}. "
    return f"{told}{fork_origin_line(debate)} " if debate.setup.forked_from else told


def deliverable_block(debate: Debate, deliverable: Any, max_bytes: int) -> str:
    """The synthesizer's result, cut where there is no room for all of it; the result's view has it whole."""
    if not debate.setup.output_schema:
        return "\n\n" + escape_block_markup(shorten_to_bytes(str(deliverable), max(max_bytes, 0)))
    text = json.dumps(deliverable, ensure_ascii=False, indent=1)
    if count_bytes(text) + 20 <= max_bytes:
        return f"\n\n```json\n{text}\n```"
    return f"\n\nThe result is JSON of {count_bytes(text):,} bytes: read_debate(view='result') has it."


def section(title: str, lines: list[str]) -> list[str]:
    return [f"\n**{title}**", *(f"- {format_heading(line)}" for line in lines)] if lines else []


def cost_line(usage: UsageSum) -> str:
    """What it cost in a sentence. An unknown price is said to be unknown."""
    tokens = f"{usage.input_tokens:,} tokens in ({usage.cached_tokens:,} cached), {usage.output_tokens:,} out"
    if not usage.calls:
        return "No calls yet."
    if usage.calls_of_unknown_cost == usage.calls:
        price = "price unknown"
    elif usage.calls_of_unknown_cost:
        price = f"${usage.cost_usd} and {format_count(usage.calls_of_unknown_cost, 'call')} of unknown price"
    else:
        price = f"${usage.cost_usd}"
    return f"{format_count(usage.calls, 'call')}, {tokens}, {price}."


def estimate_line(setup: Opened) -> str:
    """What the whole debate will take, in a sentence. An unknown price is said to be unknown."""
    found = estimate(setup)
    least, most = (sum(pair) for pair in zip(found.input_tokens, found.output_tokens, strict=True))
    price = format_estimated_price(setup, *found.cost_usd)
    return f"Estimate: {format_count(found.calls, 'call')}, {least:,} to {most:,} tokens, {price}."


def format_estimated_price(setup: Opened, minimum: str, maximum: str) -> str:
    if unknown := [price.model for price in setup.prices if not price.input]:
        return f"the price of {', '.join(unknown)} is unknown"
    if not maximum:
        return "price unknown"
    return f"${minimum} to ${maximum}" if Decimal(maximum) else "free of charge"


def build_search_text(debate: Debate) -> str:
    """Everything a search may find a debate by: nothing that is hidden from who searches."""
    setup = debate.setup
    parts = [setup.question, *setup.tags, setup.forked_from]  # forks are found by what they are forks of
    parts += [f"{d.name} {d.stance} {d.role}" for d in setup.debaters]
    parts += [document.title for document in setup.documents]
    parts += [turn.text for turn in debate.turns if is_visible(debate, "debaters")]
    if debate.verdict:
        parts += [debate.verdict.verdict, debate.verdict.reasoning]
    if debate.deliverable and is_visible(debate, "synthesizer"):
        parts.append(debate.deliverable.text)
    return "\n".join(parts)
