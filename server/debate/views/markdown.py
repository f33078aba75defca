"""Debates as Markdown, for people and for assistants: the transcript, a round, the verdict."""

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from server.debate.facts.events import Audited, Intervened, Opened, Recorded, RoundClosed, RoundOpened, Spoke
from server.debate.facts.state import Debate
from server.debate.facts.text import counted, shortened, size
from server.debate.prompts.transcript import letter_of, lettered
from server.debate.rules.budget import estimate
from server.debate.rules.decide import status
from server.debate.views.state import (
    UsageSum,
    Verdict,
    judgments,
    provenance,
    reason,
    shows,
    usage_sum,
    verdict_of,
)
from server.debate.views.warnings import failure_lines

VERDICT_LIMIT = 4_000
"""Bytes: what a verdict, or any other answer of a tool, may take of an assistant's context."""

OUTCOMES = {
    "decided": "Decided",
    "leaning": "Leaning",
    "contested": "Contested: no side prevailed",
    "undecided": "Undecided",
}

ENDINGS = {
    "max_rounds": "the last round was held",
    "max_turns": "the last turn was spoken",
    "settled": "the moderator settled it",
    "moderator done": "the moderator ended the talk",
    "terminate_when": "its condition for ending was met",
}
"""Why a talk was over, in words; other reasons are words already."""

_POSING = re.compile(r"^( {0,3})(#|=+[ \t]*$|-+[ \t]*$|<|```|~~~)")
"""What begins a heading, underlines one, or opens a block that may swallow what follows: mark-up, code."""


def transcript(debate: Debate, log: Sequence[Recorded], since_round: int = 0) -> str:
    """Everything said from a round on, then the verdict if there is one."""
    parts = [f"# {heading(debate.setup.question)}"]
    if since_round <= 1:
        parts += [f"- **{letter}. {d.name}**: {heading(d.stance)}" for letter, d in lettered(debate)]
        parts.append(f"\nFormat {debate.setup.format}, opened {log[0].at}. {provenance(debate)}".rstrip())
    for entered in debate.rounds:
        if entered.round >= since_round:
            parts.append(f"\n## Round {entered.round}: {entered.phase}")
            parts += round_lines(debate, entered.round)
    if has_result(debate):
        parts.append("\n" + verdict(debate))
    elif reason(debate):
        parts.append(f"\n*{status(debate)}: {heading(reason(debate))}*")
    return "\n".join(parts) + "\n"


def round_lines(debate: Debate, number: int) -> list[str]:
    lines = openings(debate, number)
    if shows(debate, "debaters"):
        lines += [turn_block(debate, turn) for turn in debate.spoken_in(number)]
        lines += [
            f"\n*{ballot.seat} votes for {ballot.choice or 'no side'}: {heading(ballot.reasoning)}*"
            for ballot in debate.ballots_of(number)
        ]
        # Where the next speaker was drawn, the failure below says so.
        lines += [
            f"\n*{made.seat} hands over to {made.to}.*"
            for made in debate.handoffs
            if made.round == number and made.because == "chosen"
        ]
    lines += [note_block(note) for note in debate.notes if max(note.round, 1) == number]
    lines += remarks(debate, number)
    for judged in judgments(debate):
        if judged.round == number:
            found = f"for {judged.winner}, margin {judged.margin}" if judged.winner else "for no side"
            lines.append(
                f"\n### {judged.seat}, reading {judged.reading}: {found}\n\n{indent(judged.verdict)}"
            )
    for failure in debate.failures:
        if failure.round == number:
            lines.append(f"\n*{failure.seat} failed: {heading(failure.detail)}*")
    return lines


def turn_block(debate: Debate, turn: Spoke) -> str:
    cut = " *(cut at the length limit)*" if turn.cut else ""
    letter = letter_of(debate, turn.seat)
    stance = heading(debate.debater(turn.seat).stance)
    whom = "" if turn.act == "argument" else f", {turn.act} to {turn.to}"
    title = f"\n### {letter}. {turn.seat} ({stance}){whom}"
    if not debate.stands(turn):
        struck = "\n".join(f"~~{line}~~" if line.strip() else "" for line in turn.text.splitlines())
        return f"{title}, retracted\n\n{indent(struck)}"
    return f"{title}\n\n{indent(turn.text)}{cut}"


def opening_block(opened: RoundOpened) -> str:
    lines = ["\n### Moderator", f"\nSpeakers: {', '.join(opened.next_speakers) or 'nobody'}."]
    if opened.because:
        lines.append(f"\n*{heading(opened.because)}*")
    if opened.briefing:
        lines.append(f"\n**Briefing**\n\n{indent(opened.briefing)}")
    if opened.new_angle:
        lines.append(f"\n**New angle**\n\n{indent(opened.new_angle)}")
    return "\n".join(lines) + ("\n\n*The last round.*" if opened.done else "")


def closing_block(closed: RoundClosed) -> str:
    status = "SETTLED" if closed.settled else "CONTINUE"
    text = f"\n### Moderator's summary\n\n{indent(closed.summary)}\n\n**Status**: {status}"
    return f"{text}\n\n**Decision**: {indent(closed.decision)}" if closed.decision else text


def audit_block(audited: Audited) -> str:
    return f"\n### Referee\n\n{indent(audited.text)}"


def note_block(note: Intervened) -> str:
    what = "Challenge" if note.action == "challenge" else "Note"
    return f"\n### {what} to {note.to or 'everybody'}\n\n{indent(note.text)}"


def heading(text: str) -> str:
    """Text that stays in its heading: on one line, of 200 characters at most. Mark-up within it is left."""
    line = " ".join(text.split())
    return line if len(line) <= 200 else line[:199] + "…"  # noqa: PLR2004  (a heading)


def indent(text: str) -> str:
    """Text of a model's, kept from posing as headings of the document it stands in, or hiding them."""
    return "\n".join(_POSING.sub(r"\1\\\2", line) for line in text.splitlines())


def led(debate: Debate, number: int) -> str:
    """What the moderator and the referee said in a round."""
    return "\n".join([*openings(debate, number), *remarks(debate, number)]).strip()


def openings(debate: Debate, number: int) -> list[str]:
    """How the moderator opened a round."""
    if not shows(debate, "moderator"):
        return []
    return [opening_block(opened) for opened in debate.openings if opened.round == number]


def remarks(debate: Debate, number: int) -> list[str]:
    """What the referee and the moderator said of a round when its turns were over."""
    lines = []
    if shows(debate, "referee"):
        lines += [audit_block(audited) for audited in debate.audits if audited.round == number]
    if shows(debate, "moderator"):
        lines += [closing_block(closed) for closed in debate.closings if closed.round == number]
    return lines


def has_result(debate: Debate) -> bool:
    """Whether there is something to show at the end, be it why a result could not be made."""
    given_up = debate.ended is not None and bool(verdict_of(debate).deliverable_problem)
    return given_up or debate.verdict is not None or debate.deliverable is not None


def verdict(debate: Debate, limit: int = VERDICT_LIMIT) -> str:
    """The outcome in less than so many bytes: finding, votes, dissent, what weakens it, what it cost."""
    found = verdict_of(debate)
    tail = [
        *section("Judges" if debate.judged else "Votes", found.votes),
        *section("Ballots", found.ballots),
        *section("Dissent", found.dissent[:3]),
        *section("Keep in mind", found.cautions),
        *section("Failures", failure_lines(debate)[:4]),
    ]
    if found.deliverable_problem:
        tail += section("No result in the shape asked for", [found.deliverable_problem])
    last = f"\n{ended_line(debate)}{cost_line(usage_sum(debate.usage))}"
    ended = "\n".join(tail)
    body = f"## {head(debate, found)}"
    if found.verdict:
        body += f"\n\n{indent(shortened(found.verdict, 700))}"
    room = limit - size(body) - size(ended) - size(last) - 10
    if found.deliverable:
        result = deliverable_block(debate, found.deliverable, room)
        body += result
        room -= size(result)
    if found.reasoning and room > 100:  # noqa: PLR2004  (less is no reasoning)
        body += "\n\n" + indent(shortened(found.reasoning, room))
    return shortened(f"{body}\n{ended}", limit - size(last) - 2) + "\n" + last


def head(debate: Debate, found: Verdict) -> str:
    if not found.outcome:
        return "Result"
    told = OUTCOMES.get(found.outcome, found.outcome)
    if found.winner:
        told += f": {heading(found.winner_stance)} ({letter_of(debate, found.winner)}. {found.winner})"
    return f"Verdict: {told}"


def ended_line(debate: Debate) -> str:
    told = f"{counted(debate.rounds_held, 'round')} of talk, {counted(len(debate.turns), 'turn')}. "
    if debate.ended and debate.ended.reason:
        told += f"The talk ended: {ENDINGS.get(debate.ended.reason, heading(debate.ended.reason))}. "
    return f"{told}{provenance(debate)} " if debate.setup.forked_from else told


def deliverable_block(debate: Debate, deliverable: Any, room: int) -> str:
    """The synthesizer's result, cut where there is no room for all of it; the result's view has it whole."""
    if not debate.setup.output_schema:
        return "\n\n" + indent(shortened(str(deliverable), max(room, 0)))
    text = json.dumps(deliverable, ensure_ascii=False, indent=1)
    if size(text) + 20 <= room:
        return f"\n\n```json\n{text}\n```"
    return f"\n\nThe result is JSON of {size(text):,} bytes: read_debate(view='result') has it."


def section(title: str, lines: list[str]) -> list[str]:
    return [f"\n**{title}**", *(f"- {heading(line)}" for line in lines)] if lines else []


def cost_line(used: UsageSum) -> str:
    """What it cost in a sentence. An unknown price is said to be unknown."""
    tokens = f"{used.input_tokens:,} tokens in ({used.cached_tokens:,} cached), {used.output_tokens:,} out"
    if not used.calls:
        return "No calls yet."
    if used.calls_of_unknown_cost == used.calls:
        price = "price unknown"
    elif used.calls_of_unknown_cost:
        price = f"${used.cost_usd} and {counted(used.calls_of_unknown_cost, 'call')} of unknown price"
    else:
        price = f"${used.cost_usd}"
    return f"{counted(used.calls, 'call')}, {tokens}, {price}."


def estimate_line(setup: Opened) -> str:
    """What the whole debate will take, in a sentence. An unknown price is said to be unknown."""
    found = estimate(setup)
    least, most = (sum(pair) for pair in zip(found.input_tokens, found.output_tokens, strict=True))
    price = estimated_price(setup, *found.cost_usd)
    return f"Estimate: {counted(found.calls, 'call')}, {least:,} to {most:,} tokens, {price}."


def estimated_price(setup: Opened, least: str, most: str) -> str:
    if unknown := [price.model for price in setup.prices if not price.input]:
        return f"the price of {', '.join(unknown)} is unknown"
    if not most:
        return "price unknown"
    return f"${least} to ${most}" if Decimal(most) else "free of charge"


def words(debate: Debate) -> str:
    """Everything a search may find a debate by: nothing that is hidden from who searches."""
    setup = debate.setup
    parts = [setup.question, *setup.tags, setup.forked_from]  # forks are found by what they are forks of
    parts += [f"{d.name} {d.stance} {d.role}" for d in setup.debaters]
    parts += [document.title for document in setup.documents]
    parts += [turn.text for turn in debate.turns if shows(debate, "debaters")]
    if debate.verdict:
        parts += [debate.verdict.verdict, debate.verdict.reasoning]
    if debate.deliverable and shows(debate, "synthesizer"):
        parts.append(debate.deliverable.text)
    return "\n".join(parts)
