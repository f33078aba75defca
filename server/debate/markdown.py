"""Debates as Markdown, for people and for assistants: the transcript, a round, the verdict."""

import re
from collections.abc import Sequence

from server.debate.events import Intervened, Recorded, Spoke
from server.debate.prompts import letter_of, lettered
from server.debate.state import Debate
from server.debate.text import counted, shortened, size
from server.debate.views import (
    UsageSum,
    failure_lines,
    in_order,
    judgments,
    reason,
    usage_sum,
    verdict_of,
)

VERDICT_LIMIT = 4_000
"""Bytes: what a verdict, or any other answer of a tool, may take of an assistant's context."""

OUTCOMES = {
    "decided": "Decided",
    "leaning": "Leaning",
    "contested": "Contested: no side prevailed",
    "undecided": "Undecided",
}

_POSING = re.compile(r"^( {0,3})(#|=+[ \t]*$|-+[ \t]*$|<|```|~~~)")
"""What begins a heading, underlines one, or opens a block that may swallow what follows: mark-up, code."""


def transcript(debate: Debate, log: Sequence[Recorded], since_round: int = 0) -> str:
    """Everything said from a round on, then the verdict if there is one."""
    parts = [f"# {heading(debate.setup.question)}"]
    if since_round <= 1:
        parts += [f"- **{letter}. {d.name}**: {heading(d.stance)}" for letter, d in lettered(debate)]
        parts.append(f"\nFormat {debate.setup.format}, opened {log[0].at}.")
    for entered in debate.rounds:
        if entered.round >= since_round:
            parts.append(f"\n## Round {entered.round}: {entered.phase}")
            parts += round_lines(debate, entered.round)
    if debate.verdict:
        parts.append("\n" + verdict(debate))
    elif reason(debate):
        parts.append(f"\n*{debate.status}: {heading(reason(debate))}*")
    return "\n".join(parts) + "\n"


def round_lines(debate: Debate, number: int) -> list[str]:
    lines = [turn_block(debate, turn) for turn in in_order(debate, number)]
    lines += [note_block(note) for note in debate.notes if max(note.round, 1) == number]
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
    return f"\n### {letter}. {turn.seat} ({stance})\n\n{indent(turn.text)}{cut}"


def note_block(note: Intervened) -> str:
    return f"\n### Note to {note.to or 'everybody'}\n\n{indent(note.text)}"


def heading(text: str) -> str:
    """Text that stays in its heading: on one line, of 200 characters at most. Mark-up within it is left."""
    line = " ".join(text.split())
    return line if len(line) <= 200 else line[:199] + "…"  # noqa: PLR2004  (a heading)


def indent(text: str) -> str:
    """Text of a model's, kept from posing as headings of the document it stands in, or hiding them."""
    return "\n".join(_POSING.sub(r"\1\\\2", line) for line in text.splitlines())


def verdict(debate: Debate, limit: int = VERDICT_LIMIT) -> str:
    """The verdict in less than so many bytes: finding, votes, dissent, what weakens it, what it cost."""
    found = verdict_of(debate)
    head = OUTCOMES.get(found.outcome, found.outcome)
    if found.winner:
        letter = letter_of(debate, found.winner)
        head += f": {heading(found.winner_stance)} ({letter}. {found.winner})"
    tail = [
        *section("Judges", found.votes),
        *section("Dissent", found.dissent[:3]),
        *section("Keep in mind", found.cautions),
        *section("Failures", failure_lines(debate)[:4]),
    ]
    cost = f"\n{counted(debate.talk_rounds, 'round')} of talk, {counted(len(debate.turns), 'turn')}. "
    cost += cost_line(usage_sum(debate.usage))
    ended = "\n".join(tail)
    body = f"## Verdict: {head}\n\n{indent(shortened(found.verdict, 700))}"
    room = limit - size(body) - size(ended) - size(cost) - 10
    if found.reasoning and room > 100:  # noqa: PLR2004  (less is no reasoning)
        body += "\n\n" + indent(shortened(found.reasoning, room))
    return shortened(f"{body}\n{ended}", limit - size(cost) - 2) + "\n" + cost


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


def words(debate: Debate) -> str:
    """Everything a search may find a debate by."""
    setup = debate.setup
    parts = [setup.question, *setup.tags]
    parts += [f"{d.name} {d.stance} {d.role}" for d in setup.debaters]
    parts += [document.title for document in setup.documents]
    parts += [turn.text for turn in debate.turns]
    if debate.verdict:
        parts += [debate.verdict.verdict, debate.verdict.reasoning]
    return "\n".join(parts)
