"""Debates as Markdown: the transcript, a round, the verdict; and cost and estimate in a sentence."""

import json
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import chain
from typing import Any

from server.debate.facts import events
from server.debate.facts.causes import EndCause, format_end_cause
from server.debate.facts.config import SeatKind
from server.debate.facts.interventions import InstructionGiven, TextIntervention
from server.debate.facts.state import Debate, RoundPlan, seat_kind
from server.debate.facts.text import count_bytes, format_count, shorten_to_bytes
from server.debate.prompts.transcript import LATE_NOTE, place_turns
from server.debate.rules.budget import estimate
from server.debate.rules.decide import status
from server.debate.rules.readings import order_turns
from server.debate.rules.schedule import current_model
from server.debate.views.names import name_debate
from server.debate.views.state import (
    UsageSum,
    fork_origin_line,
    framing_line,
    is_visible,
    known_debaters,
    status_reason,
    sum_usage,
)
from server.debate.views.verdict import (
    Verdict,
    build_verdict,
    find_made_position,
    find_verdict_caps,
    visible_judgments,
    visible_lookups,
)
from server.debate.views.warnings import failure_lines

VERDICT_LIMIT = 4_000
"""Bytes that a verdict, or the text of any tool result, may have."""

MAX_FINDING_BYTES = 700
MAX_POSITIONS_BYTES = 800
MIN_REASONING_BYTES = 100
"""Less of the reasoning is not worth showing."""
MAX_HEADING_LENGTH = 200

END_CAUSE_TEXTS: dict[EndCause, str] = {
    "max_rounds": "the last round was held",
    "max_turns": "the last turn was spoken",
    "settled": "the moderator settled it",
    "moderator_done": "the moderator ended the talk",
    "terminate_when": "its condition for ending was met",
    "consensus": "a vote found consensus",
    "block_limit": "its phases were held as often as they may be",
}
"""Causes for the end of the talk as text; the reasons of other causes are texts already."""

OfficerEvent = RoundPlan | events.Audited | events.RoundClosed

_BLOCK_MARKUP = re.compile(r"^( {0,3})(#|=+[ \t]*$|-+[ \t]*$|<|```|~~~)")
"""The start of a heading, its underline, or the start of an HTML or code block."""


def render_transcript(debate: Debate, entries: Sequence[events.Recorded], since_round: int = 0) -> str:
    """The rounds from one on, then the verdict or why there is none yet."""
    parts = [f"# {format_heading(debate.setup.question)}"]
    if since_round <= 1:
        parts += [f"- **{d.name}**: {format_heading(d.stance)}" for d in known_debaters(debate.setup)]
        parts += [f"\n{line}" for line in filter(None, [framing_line(debate.setup)])]
        opened = f"Format {debate.setup.format}, opened {entries[0].at}."
        parts.append(f"\n{opened} {fork_origin_line(debate)}".rstrip())
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
    debate = name_debate(debate)
    lines = talk_lines(debate, round_number)
    for ballot in debate.round_ballots(round_number):
        if is_visible(debate, seat_kind(ballot.seat)):
            choice = ballot.choice or "no side"
            lines.append(f"\n*{ballot.seat} votes for {choice}: {format_heading(ballot.reasoning)}*")
            lines += lookup_lines(debate, ballot)
    instructions = debate.find_interventions(InstructionGiven)
    lines += [note_block(given) for given in instructions if max(given.round, 1) == round_number]
    for judged in visible_judgments(debate):
        if judged.round == round_number:
            finding = f"for {judged.winner}, margin {judged.margin}" if judged.winner else "for no side"
            lines.append(f"\n### {judged.seat}, reading {judged.slot_index}: {finding}")
            lines.append(f"\n{escape_block_markup(judged.verdict)}")
            lines += lookup_lines(debate, judged)
    if debate.deliverable and debate.deliverable.round == round_number:
        lines += lookup_lines(debate, debate.deliverable)
    ended = (ended for ended in debate.ended_blocks if ended.round == round_number)
    lines += [f"\n*{describe_block_end(block)}*" for block in ended]
    return lines + [
        f"\n*{failure.seat} failed: {format_heading(failure.detail)}*"
        for failure in debate.all_failures
        if failure.round == round_number
    ]


def describe_block_end(ended: events.BlockEnded) -> str:
    times, why = format_count(ended.passes, "time"), format_end_cause(ended.cause)
    return f"The phases from {ended.block} on were held {times}, and not again: {why}."


def talk_lines(debate: Debate, round_number: int) -> list[str]:
    """Turns, notes and what officers wrote in a round, in the order in which the prompts have them."""
    groups = order_turns(debate, round_number, reading=1)
    shown = (max(event.round, 1) == round_number for event in debate.transcript_events)
    # If the next speaker was drawn, a failure says so.
    chosen = {h.seat: h.to for h in debate.handoffs if h.round == round_number and h.because == "chosen"}
    lines = []
    for event, is_late in place_turns(debate, groups, shown):
        if isinstance(event, TextIntervention):
            lines.append(note_block(event, LATE_NOTE if is_late else ""))
        elif not isinstance(event, events.Spoke):
            lines += officer_blocks(debate, round_number, [event])
        elif is_visible(debate, "debaters"):
            lines += [turn_block(debate, event), *lookup_lines(debate, event)]
            lines += [f"\n*{event.seat} hands over to {chosen[event.seat]}.*"] if event.seat in chosen else []
    return lines


def lookup_lines(debate: Debate, answer: events.SlotFact) -> list[str]:
    """What a seat looked up before an answer, a line for each."""
    return [
        f"\n*{found.seat} looked up {found.tool} {format_heading(found.arguments)}: "
        f"{format_heading(found.failed or found.result)}*"
        for found in visible_lookups(debate)
        if (found.seat, found.round, found.slot_index) == (answer.seat, answer.round, answer.slot_index)
    ]


def note_block(note: TextIntervention, late: str = "") -> str:
    return f"\n### {note.title} to {note.to or 'everybody'}{late}\n\n{escape_block_markup(note.text)}"


def turn_block(debate: Debate, turn: events.Spoke) -> str:
    stance = format_heading(debate.debater(turn.seat).stance)
    recipient = "" if turn.act == "argument" else f", {turn.act} to {turn.to}"
    title = f"\n### {turn.seat} ({stance}){recipient}"
    if debate.is_active(turn):
        cut = " *(cut at the length limit)*" if turn.cut else ""
        return f"{title}\n\n{escape_block_markup(turn.text)}{cut}"
    struck = "\n".join(f"~~{line}~~" if line.strip() else "" for line in turn.text.splitlines())
    return f"{title}, retracted\n\n{escape_block_markup(struck)}"


def officer_blocks(debate: Debate, round_number: int, facts: Iterable[OfficerEvent]) -> list[str]:
    """What moderator and referee wrote in a round, if clients may see it."""
    lines = []
    for fact in facts:
        kind: SeatKind = "referee" if isinstance(fact, events.Audited) else "moderator"
        if fact.round == round_number and is_visible(debate, kind):
            lines.append(officer_block(fact))
            lines += [] if isinstance(fact, events.DefaultPlanUsed) else lookup_lines(debate, fact)
    return lines


def officer_block(written: OfficerEvent) -> str:
    title, parts = "Moderator", []
    match written:
        case events.Audited():
            title, parts = "Referee", [written.text]
        case events.RoundClosed():
            standing = "SETTLED" if written.settled else "CONTINUE"
            title, parts = "Moderator's summary", [written.summary, f"**Status**: {standing}"]
            parts += [f"**Decision**: {written.decision}"] if written.decision else []
        case _:
            parts.append(f"Speakers: {', '.join(written.next_speakers) or 'nobody'}.")
            if isinstance(written, events.DefaultPlanUsed):
                parts.append(f"*{format_heading(written.reason)}*")
            else:
                parts += ["**Briefing**", written.briefing] if written.briefing else []
                parts += ["**New angle**", written.new_angle] if written.new_angle else []
                parts += ["*The last round.*"] if written.done else []
    text = "\n\n".join(parts)
    return f"\n### {title}\n\n{escape_block_markup(text)}"


def format_heading(text: str) -> str:
    """Text for a heading or a list item: one line of at most 200 characters."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_HEADING_LENGTH else line[: MAX_HEADING_LENGTH - 1] + "…"


def escape_block_markup(text: str) -> str:
    """A model's text that cannot add headings to the document or hide parts of it."""
    return "\n".join(_BLOCK_MARKUP.sub(r"\1\\\2", line) for line in text.splitlines())


def render_moderation(debate: Debate, round_number: int) -> str:
    """What the moderator and the referee wrote in a round."""
    debate = name_debate(debate)
    facts = (*debate.round_plans, *debate.audits, *debate.round_summaries)
    return "\n".join(officer_blocks(debate, round_number, facts)).strip()


def has_result(debate: Debate) -> bool:
    """Whether there is a verdict, a result, or the reason why there is no result."""
    has_failed = debate.ended is not None and bool(build_verdict(debate).deliverable_problem)
    return has_failed or debate.verdict is not None or debate.deliverable is not None


def render_verdict(debate: Debate, max_bytes: int = VERDICT_LIMIT) -> str:
    """The outcome in at most so many bytes, to be read without the rest of the debate."""
    found = build_verdict(debate)
    sections = [
        section("Judges" if debate.judgments else "Votes", found.votes),
        section("Ballots", found.ballots),
        section("Dissent", found.dissent[:3]),
        section("Keep in mind", found.cautions),
        section("Failures", failure_lines(debate)[:4]),
        section("No result in the shape asked for", list(filter(None, [found.deliverable_problem]))),
        section("Positions", position_lines(debate)),
    ]
    ending = f"\n{talk_summary_line(debate)}"
    details = "\n".join(chain.from_iterable(sections))
    body = f"{verdict_heading(debate, found)}\n\n**Question**: {format_heading(debate.setup.question)}"
    if found.verdict:
        body += f"\n\n{escape_block_markup(shorten_to_bytes(found.verdict, MAX_FINDING_BYTES))}"
    available = max_bytes - count_bytes(body) - count_bytes(details) - count_bytes(ending) - 10
    if found.deliverable:
        result = deliverable_block(debate, found.deliverable, available)
        body += result
        available -= count_bytes(result)
    if found.reasoning and available > MIN_REASONING_BYTES:
        body += "\n\n" + escape_block_markup(shorten_to_bytes(found.reasoning, available))
    return shorten_to_bytes(f"{body}\n{details}", max_bytes - count_bytes(ending) - 2) + "\n" + ending


def verdict_heading(debate: Debate, found: Verdict) -> str:
    """The outcome with its position, and what caps it."""
    position = found.winner_stance or find_made_position(debate)
    heading = "## Result"
    if found.outcome:
        who = f" ({found.winner})" if found.winner else ""
        won = f": {format_heading(position)}{who}" if position else ""
        prevailed = ": no side prevailed" if found.outcome == "contested" else ""
        heading = f"## Verdict: {found.outcome.capitalize()}{won or prevailed}"
    caps = format_heading(" ".join(find_verdict_caps(debate)))
    return f"{heading.rstrip('.')}. {caps}" if caps else heading


def position_lines(debate: Debate) -> list[str]:
    """Who stood for what, with the model that argued it."""
    seats = debate.setup.debaters
    share = MAX_POSITIONS_BYTES // len(seats)
    return [
        shorten_to_bytes(f"{seat.name} ({current_model(debate, seat.name)}): {seat.stance}", share)
        for seat in seats
    ]


def talk_summary_line(debate: Debate) -> str:
    rounds, turns = format_count(debate.held_round_count, "round"), format_count(len(debate.turns), "turn")
    parts = [f"{rounds} of talk, {turns}."]
    if ended := debate.ended:
        parts.append(f"The talk ended: {END_CAUSE_TEXTS.get(ended.cause, format_heading(ended.reason))}.")
    return " ".join(filter(None, [*parts, fork_origin_line(debate), cost_line(sum_usage(debate.usage))]))


def deliverable_block(debate: Debate, deliverable: Any, max_bytes: int) -> str:
    """The synthesizer's result: text is cut to the limit, longer JSON is left to the view `result`."""
    if not debate.setup.output_schema:
        return "\n\n" + escape_block_markup(shorten_to_bytes(str(deliverable), max(max_bytes, 0)))
    text = json.dumps(deliverable, ensure_ascii=False, indent=1)
    if count_bytes(text) + 20 <= max_bytes:
        return f"\n\n```json\n{text}\n```"
    return f"\n\nThe result is JSON of {count_bytes(text):,} bytes: read_debate(view='result') has it."


def section(title: str, lines: list[str]) -> list[str]:
    return [f"\n**{title}**", *(f"- {format_heading(line)}" for line in lines)] if lines else []


def cost_line(usage: UsageSum) -> str:
    """Calls, tokens and cost in a sentence. Unknown prices are named as unknown."""
    tokens = f"{usage.input_tokens:,} tokens in ({usage.cached_tokens:,} cached), {usage.output_tokens:,} out"
    if not usage.calls:
        return "No calls yet."
    price = f"${usage.cost_usd}" if usage.cost_usd else "price unknown"
    if usage.cost_usd and usage.calls_of_unknown_cost:
        price += f" and {format_count(usage.calls_of_unknown_cost, 'call')} of unknown price"
    return f"{format_count(usage.calls, 'call')}, {tokens}, {price}."


def estimate_line(setup: events.Opened) -> str:
    """The estimated calls, tokens and cost of the whole debate in a sentence."""
    found = estimate(setup)
    least, most = (sum(pair) for pair in zip(found.input_tokens, found.output_tokens, strict=True))
    minimum, maximum = found.cost_usd
    if unknown := [price.model for price in setup.prices if not price.input]:
        price = f"the price of {', '.join(unknown)} is unknown"
    elif not maximum:
        price = "price unknown"
    else:
        price = f"${minimum} to ${maximum}" if Decimal(maximum) else "free of charge"
    return f"Estimate: {format_count(found.calls, 'call')}, {least:,} to {most:,} tokens, {price}."


def build_search_text(debate: Debate) -> str:
    """The text that the search index holds for a debate, without what is hidden from clients."""
    debate = name_debate(debate)
    setup = debate.setup
    parts = [setup.question, *setup.tags, setup.forked_from]  # its id finds the forks of a debate
    parts += [f"{d.name} {d.stance} {d.role}" for d in setup.debaters]
    parts += [document.title for document in setup.documents]
    parts += [turn.text for turn in debate.turns if is_visible(debate, "debaters")]
    if debate.verdict:
        parts += [debate.verdict.verdict, debate.verdict.reasoning]
    if debate.deliverable and is_visible(debate, "synthesizer"):
        parts.append(debate.deliverable.text)
    return "\n".join(parts)
