"""What a voter holds of the positions: from JSON, from lines such as "Sorrel: 70%", or from "70/20/10".

Whatever gives each position its part of a whole is understood. What does not sum to one within rounding is refused,
and never stretched: a voter who gives 40 percent of what was asked for has not said how sure it is.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from server.debate.arguments.citations import find_cited
from server.debate.ballots.waves import find_wave, is_blind_ballot
from server.debate.facts.beliefs import Citation, Share, build_shares
from server.debate.facts.text import clean, collapse_whitespace
from server.debate.prompts.ballots import list_ballot_positions
from server.debate.replies.choices import NO_SIDE, resolve_vote
from server.debate.replies.extract import Reply, find_json, find_sections, normalize_keys, normalize_name
from server.debate.rules.calls import Call
from server.debate.state.debate import Debate
from server.debate.state.labels import side_labels

MAX_SENTENCE_LENGTH = 600
"""Characters of a ballot's sentence that are kept."""

MAX_BELIEFS_LENGTH = 4_000
"""Characters at the end of a reply in which beliefs are looked for."""

ROUNDING = Fraction(3, 100)
"""How far from one the parts may sum: three positions at 33 percent leave one."""

ROUND_FIELDS = ("new_point", "open_point")
FIELDS = ("beliefs", "position", "moved_by", "would_check", *ROUND_FIELDS)

_NUMBER = r"\d{1,7}(?:[.,]\d{1,9})?"
_AMOUNT = re.compile(rf"(?<![\w.,-])({_NUMBER})(?:\s?/\s?(\d{{1,7}}))?")
_LIST = re.compile(rf"(?<![\w.,/])(?:{_NUMBER}\s?%?\s?[/|;:]\s?){{1,30}}{_NUMBER}\s?%?(?![\w/])")
_ROUND = re.compile(r"\d{1,3}")


def parse_ballot(debate: Debate, call: Call, text: str, reply: Reply) -> dict[str, Any]:
    """The fields of a `Balloted` event. Beliefs that are not informative need not sum to one.

    Raises:
        ValueError: there are no beliefs, or they are no parts of one whole; the text tells the voter what is wrong.
    """
    fields = find_ballot_fields(text)
    is_after_round = find_wave(debate, call.slot_index) == "round"
    amounts = find_amounts(debate, call, fields["beliefs"])
    position = clean_sentence(fields.get("position")) or clean_sentence(fields.get("reasoning"))
    return {
        "wave": find_wave(debate, call.slot_index),
        "beliefs": build_beliefs(debate, amounts, is_informative=reply.informative),
        "position": position,
        "moved_by": None
        if is_blind_ballot(call.slot_index)
        else find_citation(debate, fields.get("moved_by")),
        "would_check": clean_sentence(fields.get("would_check")),
        **{name: clean_claim(fields.get(name)) for name in ROUND_FIELDS if is_after_round},
    }


def find_ballot_fields(text: str) -> dict[str, Any]:
    """The fields of the last JSON object with beliefs, or of headed lines; else the whole text as both.

    Raises:
        ValueError: there is JSON, and it is malformed.
    """
    try:
        found = find_json(text, FIELDS)
    except ValueError:
        if "{" in text and '"' in text:
            raise
        found = None
    if isinstance(found, Mapping):
        fields = normalize_keys(found)
        return fields if "beliefs" in fields else {"beliefs": found, **fields}
    sections = find_sections(text, FIELDS)
    return sections if "beliefs" in sections else {"beliefs": text, "position": text}


def find_amounts(debate: Debate, call: Call, value: Any) -> dict[str, Fraction]:
    """The amount of each position that has one, by debater, and of none under "".

    Raises:
        ValueError: there are none, or something else has one.
    """
    if isinstance(value, Sequence) and not isinstance(value, str):
        rows = [row for row in value if isinstance(row, Mapping)]
        if rows and len(rows) == len(value):
            value = dict(filter(None, map(read_row, rows)))
        else:
            return place_amounts(debate, call, list(map(parse_amount, value)))
    if isinstance(value, Mapping):
        return read_amounts(debate, value)
    return search_amounts(debate, call, str(value or "")[-MAX_BELIEFS_LENGTH:])


def read_row(row: Mapping[str, Any]) -> tuple[str, Any] | None:
    """A position and its amount from an object such as {"position": "Sorrel", "percent": 70}."""
    names = [value for value in row.values() if isinstance(value, str) and parse_amount(value) is None]
    amounts = [value for value in row.values() if parse_amount(value) is not None]
    return (names[0], amounts[0]) if len(names) == 1 and len(amounts) == 1 else None


def read_amounts(debate: Debate, value: Mapping[Any, Any]) -> dict[str, Fraction]:
    amounts: dict[str, Fraction] = {}
    for key, given in value.items():
        amount = Fraction(0) if given is None else parse_amount(given)
        try:
            name = resolve_vote(debate, str(key), "beliefs", 1)
        except ValueError:
            if amount:
                raise
            continue
        if amount is None:
            raise ValueError(f'"beliefs" has no percentage for {collapse_whitespace(str(key))[:40]}')
        amounts[name] = amounts.get(name, Fraction(0)) + amount
    return amounts


def search_amounts(debate: Debate, call: Call, text: str) -> dict[str, Fraction]:
    """Amounts from text: beside labels, stances or names, or a list such as "70/20/10" in the order shown."""
    stances = {debater.name: debater.stance for debater in debate.setup.debaters}
    folded = text.casefold()
    for words in (side_labels(debate), stances, {name: name for name in debate.names}):
        present = [(name, word) for name, word in [*words.items(), ("", "none")] if word.casefold() in folded]
        for is_after in (True, False):
            found = {
                name: amount
                for name, word in present
                if (amount := find_amount_beside(text, word, is_after=is_after)) is not None
            }
            if found.keys() - {""} and is_whole(sum(found.values())):
                return found
    lists = _LIST.findall(text)
    if len(lists) == 1:
        return place_amounts(debate, call, [parse_amount(part) for part in re.split("[/|;:]", lists[0])])
    raise ValueError(describe_beliefs(debate))


def find_amount_beside(text: str, word: str, *, is_after: bool) -> Fraction | None:
    """The last amount that stands right after a word, or right before it; None without one."""
    own = rf"(?<!\w){re.escape(word)}(?!\w)"
    number = rf"(?P<amount>{_NUMBER})(?![\d/]|\s/)"
    after = rf"{own}[^\w\n]{{0,6}}(?:(?:is|at|with|gets)\s)?[^\w\n-]{{0,3}}{number}"
    before = rf"{number}\s?(?:%|percent)?\s?(?:(?:for|to|on|in)\s)?{own}"
    found = [match["amount"] for match in re.finditer(after if is_after else before, text, re.IGNORECASE)]
    return parse_amount(found[-1]) if found else None


def place_amounts(debate: Debate, call: Call, amounts: Sequence[Fraction | None]) -> dict[str, Fraction]:
    """Amounts by the order in which the voter was shown the positions; the one for none comes last, or is left out."""
    order = [*list_ballot_positions(debate, call), ""]
    if None in amounts or len(amounts) not in (len(order) - 1, len(order)):
        raise ValueError(describe_beliefs(debate))
    return {name: amount for name, amount in zip(order, amounts, strict=False) if amount is not None}


def parse_amount(value: Any) -> Fraction | None:
    """A number that is not negative, exactly: 70, "70 %", "0.7", "7/10"; None for anything else."""
    if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if isinstance(value, int | float):
        return Fraction(Decimal(str(value))) if 0 <= value < 10**7 else None
    found = _AMOUNT.search(value) if isinstance(value, str) else None
    if not found:
        return None
    amount = Fraction(found[1].replace(",", "."))
    return amount / int(found[2]) if found[2] and int(found[2]) else amount


def is_whole(total: Fraction | int) -> bool:
    """Whether parts sum to one, or to a hundred, within rounding."""
    return any(abs(total / whole - 1) <= ROUNDING for whole in (Fraction(1), Fraction(100)))


def build_beliefs(
    debate: Debate, amounts: Mapping[str, Fraction], *, is_informative: bool
) -> tuple[Share, ...]:
    """Shares in the order declared, that of none last."""
    total = sum(amounts.values())
    if not is_informative and not total:
        amounts = {"": Fraction(1)}
    elif is_informative and not is_whole(total):
        raise ValueError(f"the beliefs sum to {float(total):g}: {describe_beliefs(debate)}")
    return build_shares({name: amounts.get(name, Fraction(0)) for name in (*debate.names, "")})


def describe_beliefs(debate: Debate) -> str:
    labels = ", ".join((*debate.setup.labels, "none"))
    return f'"beliefs" must give a percentage for each of {labels}, together 100'


def find_citation(debate: Debate, value: Any) -> Citation | None:
    """The point that a text such as "Sorrel 2.1" names, or the turn of "Sorrel, round 2"; None where there is none."""
    text = " ".join(map(str, flatten(value)))
    labels = side_labels(debate)
    named = {
        name
        for name, label in labels.items()
        if re.search(rf"(?<!\w){re.escape(label)}(?!\w)", text, re.IGNORECASE)
    }
    if len(named) != 1:
        return None
    cited, _ = find_cited(debate, [text], 1)
    if cited:
        return cited[0]
    seat = named.pop()
    rounds = [turn.round for turn in debate.turns if turn.seat == seat and debate.is_active(turn)]
    number = _ROUND.search(re.sub(re.escape(labels[seat]), " ", text, flags=re.IGNORECASE))
    wanted = int(number[0]) if number else max(rounds, default=0)
    return Citation(seat=seat, round=wanted) if wanted in rounds else None


def flatten(value: Any) -> Iterable[Any]:
    """The parts of a citation that may be an object or a list."""
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else [] if value is None else [value]


def clean_sentence(value: Any) -> str:
    """A text field on one line, cleaned and cut; "" for what is missing or no text."""
    return collapse_whitespace(clean(value))[:MAX_SENTENCE_LENGTH] if isinstance(value, str) else ""


def clean_claim(value: Any) -> str:
    """A text field that says nothing where it says "none"."""
    text = clean_sentence(value)
    return "" if normalize_name(text) in NO_SIDE else text
