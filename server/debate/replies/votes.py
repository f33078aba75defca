"""What a judge found: from JSON, from lines such as "Winner: Sorrel", or from an answer that is nothing but a choice.

Models answer in many shapes. Whatever names exactly one position is understood; what could mean two is refused,
with a sentence that says what was unclear, and is never resolved by guessing. Prose is asked again.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any

from server.debate.arguments.citations import find_cited
from server.debate.arguments.points import format_id, list_points
from server.debate.facts.beliefs import Belief, Citation, Criterion, apportion
from server.debate.facts.setup.seats import WRITTEN
from server.debate.facts.text import clean
from server.debate.prompts.response_schemas import CRITERIA, MAX_CITED
from server.debate.replies.choices import SYNTHESES, resolve_vote
from server.debate.replies.extract import (
    Reply,
    find_debaters,
    find_json,
    find_sections,
    normalize_keys,
    normalize_name,
)
from server.debate.rules.calls import Call
from server.debate.state.debate import Debate
from server.debate.state.labels import side_labels
from server.debate.votes.counting import CLEAR_MARGIN, grade_lead

MAX_FIELD_LENGTH = 4_000
"""Characters of a field of an answer that are kept."""

WINNER_LEAD = 20
"""Percent by which the most likely position leads the next, where a judge names beliefs and no winner."""

CHOICE_KEYS = ("choice", "vote", "decision", "answer", "finding", "verdict")
"""What models call the field of their choice. It counts where it holds a position and nothing else."""


def parse_judgment(debate: Debate, call: Call, text: str, reply: Reply) -> dict[str, Any]:
    """The fields of a `Judged` event. A finding that is not informative need not agree with itself.

    Raises:
        ValueError: there is no finding, or it is unclear; the text tells the judge what was.
    """
    fields = find_fields(debate, text, ("winner", "beliefs"), call.reading)
    if fields is None:
        winner = find_whole_choice(debate, text, call.reading)
        return {"winner": winner, "margin": int(bool(winner)), "verdict": clean_text(text), "reasoning": ""}
    beliefs = parse_beliefs(debate, fields.get("beliefs"), call.reading)
    named = fields.get("winner", ...)
    if named is ... and not beliefs:
        raise ValueError('"winner" is missing: name one position, or null')
    winner = find_leader(beliefs) if named is ... else resolve_vote(debate, named, "winner", call.reading)
    if reply.informative:
        check_beliefs(debate, winner, beliefs, call.reading)
    cited, unknown = parse_cited(debate, fields, call.reading)
    if reply.informative and winner and "cited" in fields and can_ask_again(call):
        check_cited(debate, winner, cited, call.reading)
    verdict = clean_text(fields.get("verdict")) or clean_text(fields.get("reasoning"))
    common = clean_text(fields.get("common_position")) if not winner else ""
    if not common and not winner and normalize_name(str(named)) in SYNTHESES:
        common = verdict
    return {
        "winner": winner,
        "margin": compute_margin(winner, beliefs, fields.get("margin")) if winner or common else 0,
        "verdict": verdict,
        "reasoning": clean_text(fields.get("reasoning")),
        "beliefs": beliefs,
        "criteria": parse_criteria(debate, fields.get("criteria"), call.reading),
        "common_position": common,
        "would_change": clean_text(fields.get("would_change")),
        "cited": cited[:MAX_CITED],
        "unknown_citations": unknown,
    }


def find_fields(debate: Debate, text: str, wanted: tuple[str, ...], reading: int) -> dict[str, Any] | None:
    """The last JSON object or the headed lines that hold one of these fields; None for prose.

    A position alone under another name for a choice stands under the first of them.

    Raises:
        ValueError: there is JSON, and it is malformed or lacks all of the fields.
    """
    sections = find_sections(text, (*wanted, "verdict", "reasoning", "margin"))
    try:
        found: dict[str, Any] = find_json(text, wanted)
    except ValueError:
        if any(name in sections for name in wanted):
            return {
                name: below.partition("\n")[0] if name in wanted and name != "beliefs" else below
                for name, below in sections.items()
            }
        if "{" in text and '"' in text:
            raise
        return None
    fields = normalize_keys(found)
    if any(name in fields for name in wanted):
        return fields
    for name in CHOICE_KEYS:
        if len(find_debaters(debate, str(fields.get(name, "")), reading=reading)) == 1:
            return {wanted[0]: fields[name], **fields}
    raise ValueError(f'the JSON of the reply has no "{wanted[0]}"')


def find_whole_choice(debate: Debate, text: str, reading: int) -> str:
    """The position of an answer that is nothing but a choice, such as "Option B" or "tie". Raises ValueError."""
    with suppress(ValueError):
        if re.search(r"\w", text):
            return resolve_vote(debate, text, "winner", reading)
    labels = ", ".join(debate.setup.labels)
    problem = "the reply is prose"
    raise ValueError(f"{problem}: answer with JSON, and with one of {labels} or null")


def clean_text(value: Any) -> str:
    """A text field, cleaned and cut; "" for what is missing or no text."""
    return clean(value)[:MAX_FIELD_LENGTH] if isinstance(value, str) else ""


def parse_beliefs(debate: Debate, value: Any, reading: int) -> tuple[Belief, ...]:
    """Percentages that sum to 100, in the order declared, the belief in none last; () where none are usable."""
    if isinstance(value, str):
        value = find_percentages(debate, value, reading)
    if not isinstance(value, Mapping):
        return ()
    amounts = dict.fromkeys((*debate.names, ""), 0.0)
    for key, amount in value.items():
        number = parse_number(amount)
        try:
            name = resolve_vote(debate, str(key), "beliefs", reading)
        except ValueError:
            continue
        if number is None or number < 0:
            return ()
        amounts[name] += number
    if not sum(amounts.values()):
        return ()
    percent = apportion({name: Fraction(amount) for name, amount in amounts.items()}, 100)
    return tuple(Belief(name=name, percent=share) for name, share in percent.items())


def find_percentages(debate: Debate, text: str, reading: int) -> dict[str, str]:
    """Percentages in lines or in a sentence, such as "- Sorrel: 70%", by label."""
    words = (*side_labels(debate, reading).values(), "none")
    found = {
        word: re.search(rf"\b{word}\b[^\w\n]{{0,6}}(\d[\d.,]{{0,6}})", text, re.IGNORECASE) for word in words
    }
    return {word: match[1].rstrip(".,") for word, match in found.items() if match}


def parse_number(value: Any) -> float | None:
    if isinstance(value, str):
        found = re.search(r"\d+(?:[.,]\d+)?", value)
        value = float(found[0].replace(",", ".")) if found else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e6  # noqa: PLR2004
    return float(value) if is_number else None


def rank(beliefs: tuple[Belief, ...]) -> list[Belief]:
    return sorted(beliefs, key=lambda belief: -belief.percent)


def find_leader(beliefs: tuple[Belief, ...]) -> str:
    first, second = rank(beliefs)[:2]
    return first.name if first.percent - second.percent >= WINNER_LEAD else ""


def check_beliefs(debate: Debate, winner: str, beliefs: tuple[Belief, ...], reading: int) -> None:
    """Raise ValueError where the beliefs put another position above the winner."""
    if not (winner and beliefs):
        return
    own = next(belief.percent for belief in beliefs if belief.name == winner)
    first = rank(beliefs)[0]
    if first.percent > own:
        labels = {**side_labels(debate, reading), "": "none"}
        raise ValueError(
            f"the winner is {labels[winner]}, and the beliefs are highest for {labels[first.name]}"
        )


def compute_margin(winner: str, beliefs: tuple[Belief, ...], given: Any) -> int:
    """0 to 3: from the belief in the winner, or in none of them, less that in the next, else as given, else 1."""
    if beliefs:
        own = next(belief.percent for belief in beliefs if belief.name == winner)
        lead = own - max(belief.percent for belief in beliefs if belief.name != winner)
        return grade_lead(lead)
    number = parse_number(given)
    return 1 if number is None else min(max(int(number), 0), CLEAR_MARGIN + 1)


def parse_cited(debate: Debate, fields: Mapping[str, Any], reading: int) -> tuple[tuple[Citation, ...], int]:
    """(the points that a judge names, in `cited` or in its prose, how many ids of nothing)."""
    given = fields.get("cited")
    listed = given if isinstance(given, list) else [given]
    ids = [f"[{clean_text(one).strip('[] ')}]" for one in listed[:MAX_CITED] if isinstance(one, str)]
    prose = (clean_text(fields.get(name)) for name in ("verdict", "reasoning"))
    return find_cited(debate, (*ids, *prose), reading)


def can_ask_again(call: Call) -> bool:
    """Whether a better answer can be asked for: once, and not of somebody who writes by hand.

    An answer written by hand is refused without a record, so that every further one would count as the first.
    """
    return call.attempt == 1 and call.model not in WRITTEN


def check_cited(debate: Debate, winner: str, cited: tuple[Citation, ...], reading: int) -> None:
    """Raise ValueError where a finding rests on no point of its winner, who has some. It is asked for once."""
    own = [
        point.id
        for point in list_points(debate).values()
        if point.id.seat == winner and debate.is_active(point.turn)
    ]
    if own and not {*own} & {*cited}:
        label = side_labels(debate, reading)[winner]
        raise ValueError(
            f'"cited" has no point of {label}, such as {format_id(own[0], label)}, which you find for'
        )


def parse_criteria(debate: Debate, value: Any, reading: int) -> tuple[Criterion, ...]:
    """The criteria that the judge answered."""
    found = []
    for name in CRITERIA:
        if isinstance(value, Mapping) and isinstance(value.get(name), str):
            try:
                better = resolve_vote(debate, value[name], name, reading)
            except ValueError:
                continue
            found.append(Criterion(name=name, better=better))
    return tuple(found)
