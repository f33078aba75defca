"""Reads what a judge found: from JSON, from lines such as "Winner: K73", or from an answer that is only a choice.

Models answer in many forms. Anything that names exactly one position is understood. An ambiguous answer is refused,
with a sentence that says what was unclear; the server never guesses. Prose is never searched for a choice: it is asked
for again, in any language.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any

from server.debate.arguments.citations import find_cited_points
from server.debate.arguments.points import format_id, list_points
from server.debate.facts.beliefs import Belief, Citation, Criterion, apportion
from server.debate.facts.events import JUDGE_ADVICE
from server.debate.facts.setup.seats import WRITTEN
from server.debate.prompts.response_schemas import CRITERIA, MAX_CITED
from server.debate.replies.extract import (
    NOTHING,
    Reply,
    clean_text,
    drop_nothing,
    find_debaters,
    find_json,
    find_sections,
    normalize_keys,
    normalize_name,
    parse_amount,
    read_percent,
    take_list,
)
from server.debate.rules.calls import Call
from server.debate.state.debate import Debate
from server.debate.state.labels import order_sides, side_labels
from server.debate.votes.counting import CLEAR_MARGIN, grade_lead

NO_SIDE = NOTHING | {
    *("tie", "draw", "a tie", "a draw", "it is a tie", "even", "undecided", "abstain", "abstention"),
    *("no winner", "no position", "no clear winner", "neither side", "neither position"),
}
SYNTHESES = frozenset({"both", "synthesis", "compromise", "both of them", "both positions", "a synthesis"})

MAX_CHOICE_LENGTH = 2_000
"""In characters; a longer one is prose."""

_FILLERS = re.compile(
    r"\b(?:the|my|final|option|position|side|answer|choice|winner|vote|finding|verdict|decision|of|for|is|boxed)\b",
    re.IGNORECASE,
)
"""Words of the prompt that may surround a label."""


def resolve_vote(debate: Debate, choice: Any, field: str, reading: int) -> str:
    """The debater whom a vote means; "" for none.

    Raises:
        ValueError: it means no position here, or several, or says more than a position.
    """
    text = choice if isinstance(choice, str) else "" if choice is None else str(choice)
    if normalize_name(text) in NO_SIDE | SYNTHESES or not normalize_name(text):
        return ""
    debaters = find_debaters(debate, text, reading=reading)
    problem = "names more than one position" if debaters else "names no position"
    if not debaters and len(text) <= MAX_CHOICE_LENGTH:
        debaters, other_words = find_mentioned(debate, text, reading)
        if len(debaters) == 1 and (
            re.search(r"\w", _FILLERS.sub("", other_words)) or "?" in other_words or "\uff1f" in other_words
        ):
            debaters, problem = set(), "says more than a position"
        elif debaters:
            problem = "names more than one position"
    if len(debaters) != 1:
        labels = ", ".join(debate.setup.labels)
        raise ValueError(f'"{field}" {problem}: it must be one of {labels}, or null')
    return next(iter(debaters))


def find_mentioned(debate: Debate, text: str, reading: int) -> tuple[set[str], str]:
    """(the debaters whose label, or otherwise name or stance, occurs in a choice; the other words of it).

    For example "Option K73", "K73 (Ada)", "K73. Keep it".
    """
    stances = {d.name: d.stance for d in debate.setup.debaters}
    for words in (side_labels(debate, reading), {name: name for name in debate.names}, stances):
        patterns = {
            name: re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
            for name, word in words.items()
        }
        if mentioned := {name for name, pattern in patterns.items() if pattern.search(text)}:
            for name in mentioned:
                for word in sorted((words[name], stances[name], name), key=len, reverse=True):
                    text = re.sub(re.escape(word), " ", text, flags=re.IGNORECASE)
            return mentioned, text
    return set(), text


FINDING_KEYS = ("winner", "beliefs")
"""The fields of which a finding needs one."""

CHOICE_KEYS = ("choice", "vote", "decision", "answer", "finding", "verdict")
"""Models' names for the field of their choice. It counts only if it contains a position and nothing else."""


def parse_judgment(debate: Debate, call: Call, text: str, reply: Reply) -> dict[str, Any]:
    """The fields of a `Judged` event. A finding that is not informative need not agree with itself.

    Raises:
        ValueError: there is no finding, or an unclear one; the text tells the judge what was unclear.
    """
    fields = find_fields(debate, text, call.reading)
    if fields is None:
        winner = find_whole_choice(debate, text, call.reading)
        return {"winner": winner, "margin": int(bool(winner)), "verdict": clean_text(text), "reasoning": ""}
    beliefs = parse_beliefs(debate, fields.get("beliefs"), call.reading)
    winner_field = fields.get("winner", ...)
    if winner_field is ... and not beliefs:
        raise ValueError('"winner" is missing: name one position, or null')
    winner = (
        choose_leader(beliefs)
        if winner_field is ...
        else resolve_vote(debate, winner_field, "winner", call.reading)
    )
    if reply.informative:
        check_beliefs(debate, winner, beliefs, call.reading)
    citations, unknown_count = parse_cited(debate, fields, call.reading)
    if reply.informative and winner and "cited" in fields and can_ask_again(call):
        check_cited(debate, winner, citations, call.reading)
    verdict = clean_text(fields.get("verdict")) or clean_text(fields.get("reasoning"))
    advice = {name: drop_nothing(clean_text(fields.get(name))) for name in JUDGE_ADVICE}
    advice["recommendation"] = clean_text(fields.get("recommendation"))  # it may be "No."
    if not winner and normalize_name(str(winner_field)) in SYNTHESES:
        advice["recommendation"] = advice["recommendation"] or verdict
    probability = read_percent(fields.get("probability")) or 0
    own_margin = grade_own(advice["recommendation"], probability)
    return {
        "winner": winner,
        "margin": compute_margin(winner, beliefs, fields.get("margin")) if winner else own_margin,
        "verdict": verdict,
        "reasoning": clean_text(fields.get("reasoning")),
        "beliefs": beliefs,
        "criteria": parse_criteria(debate, fields.get("criteria"), call.reading),
        **advice,
        "unargued": parse_unargued(debate, fields.get("unargued"), call.reading),
        "probability": probability,
        "cited": citations[:MAX_CITED],
        "unknown_citations": unknown_count,
    }


def find_fields(debate: Debate, text: str, reading: int) -> dict[str, Any] | None:
    """The last JSON object, or the headed lines, with a winner or beliefs; None for prose.

    If the choice has another name and is a position alone, it is returned as the winner.

    Raises:
        ValueError: the JSON is malformed or has none of the fields.
    """
    sections = find_sections(text, (*FINDING_KEYS, "verdict", "reasoning", "margin"))
    try:
        data: dict[str, Any] = find_json(text, FINDING_KEYS)
    except ValueError:
        if "winner" in sections:
            return sections | {"winner": sections["winner"].partition("\n")[0]}
        if "beliefs" in sections:
            return dict(sections)
        if "{" in text and '"' in text:
            raise
        return None
    fields = normalize_keys(data)
    if any(name in fields for name in FINDING_KEYS):
        return fields
    for name in CHOICE_KEYS:
        if len(find_debaters(debate, str(fields.get(name, "")), reading=reading)) == 1:
            return {"winner": fields[name], **fields}
    raise ValueError('the JSON of the reply has no "winner"')


def find_whole_choice(debate: Debate, text: str, reading: int) -> str:
    """The position of an answer that is only a choice, such as "Option B" or "tie". Raises ValueError."""
    with suppress(ValueError):
        if re.search(r"\w", text):
            return resolve_vote(debate, text, "winner", reading)
    labels = ", ".join(debate.setup.labels)
    raise ValueError(f"the reply is prose: answer with JSON, and with one of {labels} or null")


def parse_beliefs(debate: Debate, value: Any, reading: int) -> tuple[Belief, ...]:
    """Percentages that sum to 100, in the order declared, none last; () if they are unusable."""
    if isinstance(value, str):
        value = find_percentages(debate, value, reading)
    if not isinstance(value, Mapping):
        return ()
    amounts = dict.fromkeys((*debate.names, ""), Fraction(0))
    for key, amount_value in value.items():
        try:
            name = resolve_vote(debate, str(key), "beliefs", reading)
        except ValueError:
            continue
        amount = parse_amount(amount_value)
        if amount is None:
            return ()
        amounts[name] += amount
    if not sum(amounts.values()):
        return ()
    percent = apportion(amounts, 100)
    return tuple(Belief(name=name, percent=share) for name, share in percent.items())


def find_percentages(debate: Debate, text: str, reading: int) -> dict[str, str]:
    """Percentages in lines or a sentence, such as "- K73: 70%", by label."""
    words = (*side_labels(debate, reading).values(), "none")
    matches = {
        word: re.search(rf"\b{word}\b[^\w\n]{{0,6}}(\d[\d.,]{{0,6}})", text, re.IGNORECASE) for word in words
    }
    return {word: match[1].rstrip(".,") for word, match in matches.items() if match}


def parse_unargued(debate: Debate, value: Any, reading: int = 0) -> tuple[str, ...]:
    """The debaters whose labels, or names, stand alone in a list; nothing is made of other words."""
    names = order_sides(debate, reading) | {name: name for name in debate.names}
    entries = [str(entry).strip() for entry in take_list(value)]
    named = {names.get(entry, names.get(entry.upper())) for entry in entries}
    return tuple(name for name in debate.names if name in named)


def rank(beliefs: tuple[Belief, ...]) -> list[Belief]:
    return sorted(beliefs, key=lambda belief: -belief.percent)


def choose_leader(beliefs: tuple[Belief, ...]) -> str:
    """The likeliest position, however close; "" where two are alike, or where it is none of them."""
    likeliest, next_likeliest = rank(beliefs)[:2]
    return likeliest.name if likeliest.percent > next_likeliest.percent else ""


def check_beliefs(debate: Debate, winner: str, beliefs: tuple[Belief, ...], reading: int) -> None:
    """Raise ValueError if the beliefs favour another position than the winner."""
    if not (winner and beliefs):
        return
    percent = next(belief.percent for belief in beliefs if belief.name == winner)
    likeliest = rank(beliefs)[0]
    if likeliest.percent > percent:
        labels = {**side_labels(debate, reading), "": "none"}
        raise ValueError(
            f"the winner is {labels[winner]}, and the beliefs are highest for {labels[likeliest.name]}"
        )


def compute_margin(winner: str, beliefs: tuple[Belief, ...], margin: Any) -> int:
    """0 to 3: from the lead of the belief in the winner; otherwise as given; otherwise 1."""
    if beliefs:
        percent = next(belief.percent for belief in beliefs if belief.name == winner)
        lead = percent - max(belief.percent for belief in beliefs if belief.name != winner)
        return grade_lead(lead)
    number = parse_amount(margin)
    return 1 if number is None else min(int(number), CLEAR_MARGIN + 1)


def grade_own(recommendation: str, probability: int) -> int:
    """The margin of a recommendation that is none of the positions: how likely its judge holds it to be right."""
    return grade_lead(2 * probability - 100) if recommendation else 0


def parse_cited(debate: Debate, fields: Mapping[str, Any], reading: int) -> tuple[tuple[Citation, ...], int]:
    """(the points that a judge names, in `cited` or in prose; how many ids are unknown)."""
    ids = [
        f"[{clean_text(point_id).strip('[] ')}]"
        for point_id in take_list(fields.get("cited"))[:MAX_CITED]
        if isinstance(point_id, str)
    ]
    prose = (clean_text(fields.get(name)) for name in ("verdict", "reasoning"))
    return find_cited_points(debate, (*ids, *prose), reading)


def can_ask_again(call: Call) -> bool:
    """Whether a better answer can be asked for: once, and not from somebody who writes by hand.

    A refused answer by hand leaves no record, so every later one would count as the first.
    """
    return call.attempt == 1 and call.model not in WRITTEN


def check_cited(debate: Debate, winner: str, citations: tuple[Citation, ...], reading: int) -> None:
    """Raise ValueError if a finding cites no point of its winner, who has some. It is asked for once more."""
    points = [
        point.id
        for point in list_points(debate).values()
        if point.id.seat == winner and debate.is_active(point.turn)
    ]
    if points and not {*points} & {*citations}:
        label = side_labels(debate, reading)[winner]
        raise ValueError(
            f'"cited" has no point of {label}, such as {format_id(points[0], label)}, which you find for'
        )


def parse_criteria(debate: Debate, value: Any, reading: int) -> tuple[Criterion, ...]:
    """The criteria that the judge answered."""
    criteria = []
    for name in CRITERIA:
        if isinstance(value, Mapping) and isinstance(value.get(name), str):
            try:
                better = resolve_vote(debate, value[name], name, reading)
            except ValueError:
                continue
            criteria.append(Criterion(name=name, better=better))
    return tuple(criteria)
