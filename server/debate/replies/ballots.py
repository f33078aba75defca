"""Reads what a voter believes: from JSON, from lines such as "K73: 70%", or from "70/20/10".

Anything that gives each position its part of a whole is understood. Parts that do not sum to one within rounding are
refused, never scaled: a voter whose parts sum to 40 percent has not said how sure it is.
"""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from server.debate.arguments.citations import find_cited_points
from server.debate.ballots.waves import is_blind_ballot, name_wave
from server.debate.facts.beliefs import Citation, Share, build_shares
from server.debate.facts.text import collapse_whitespace
from server.debate.prompts.debaters import list_ballot_positions
from server.debate.replies.extract import (
    NUMBER,
    Reply,
    clean_text,
    drop_nothing,
    find_json,
    find_sections,
    normalize_keys,
    parse_amount,
    take_list,
)
from server.debate.replies.votes import parse_unargued, resolve_vote
from server.debate.rules.calls import Call
from server.debate.state.debate import Debate
from server.debate.state.labels import side_labels

MAX_SENTENCE_LENGTH = 600
"""Characters of a ballot's sentence that are stored."""

MAX_BELIEFS_LENGTH = 4_000
"""Characters at the end of a reply that are searched for beliefs."""

ROUNDING = Fraction(3, 100)
"""The allowed distance of the sum from one: three positions at 33 percent leave one."""

ROUND_FIELDS = ("new_point", "open_point")
FIELDS = ("beliefs", "position", "moved_by", "would_check", "unargued", *ROUND_FIELDS)

_LIST = re.compile(rf"(?<![\w.,/])(?:{NUMBER}\s?%?\s?[/|;:]\s?){{1,30}}{NUMBER}\s?%?(?![\w/])")
_ROUND = re.compile(r"\d{1,3}")


def parse_ballot(debate: Debate, call: Call, text: str, reply: Reply) -> dict[str, Any]:
    """The fields of a `Balloted` event. Beliefs that are not informative need not sum to one.

    Raises:
        ValueError: there are no beliefs, or they do not form a whole; the text tells the voter what is wrong.
    """
    fields = find_ballot_fields(text)
    is_after_round = name_wave(debate, call.slot_index) == "round"
    amounts = find_amounts(debate, call, fields["beliefs"])
    position = clean_sentence(fields.get("position")) or clean_sentence(fields.get("reasoning"))
    return {
        "wave": name_wave(debate, call.slot_index),
        "beliefs": build_beliefs(debate, amounts, is_informative=reply.informative),
        "position": position,
        "moved_by": None
        if is_blind_ballot(call.slot_index)
        else find_citation(debate, fields.get("moved_by")),
        "would_check": drop_nothing(clean_sentence(fields.get("would_check"))),
        "unargued": parse_unargued(debate, fields.get("unargued")),
        **{name: drop_nothing(clean_sentence(fields.get(name))) for name in ROUND_FIELDS if is_after_round},
    }


def find_ballot_fields(text: str) -> dict[str, Any]:
    """The fields of the last JSON object with beliefs, or of headed lines; otherwise the whole text as both.

    Raises:
        ValueError: there is JSON, and it is malformed.
    """
    try:
        data = find_json(text, FIELDS)
    except ValueError:
        if "{" in text and '"' in text:
            raise
        data = None
    if isinstance(data, Mapping):
        fields = normalize_keys(data)
        return fields if "beliefs" in fields else {"beliefs": data, **fields}
    sections = find_sections(text, FIELDS)
    return sections if "beliefs" in sections else {"beliefs": text, "position": text}


def find_amounts(debate: Debate, call: Call, value: Any) -> dict[str, Fraction]:
    """The amounts by debater; the amount for none of them is under "".

    Raises:
        ValueError: there are none, or something other than a position has one.
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
    """A position and its amount from an object such as {"position": "K73", "percent": 70}."""
    names = [value for value in row.values() if isinstance(value, str) and parse_amount(value) is None]
    amounts = [value for value in row.values() if parse_amount(value) is not None]
    return (names[0], amounts[0]) if len(names) == 1 and len(amounts) == 1 else None


def read_amounts(debate: Debate, value: Mapping[Any, Any]) -> dict[str, Fraction]:
    amounts: dict[str, Fraction] = {}
    for key, amount_value in value.items():
        amount = Fraction(0) if amount_value is None else parse_amount(amount_value)
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
    """Amounts in a text: next to labels, stances or names, or a list such as "70/20/10" in the order shown."""
    stances = {debater.name: debater.stance for debater in debate.setup.debaters}
    folded_text = text.casefold()
    for words in (side_labels(debate), stances, {name: name for name in debate.names}):
        words_present = [
            (name, word) for name, word in [*words.items(), ("", "none")] if word.casefold() in folded_text
        ]
        for is_after in (True, False):
            amounts = {
                name: amount
                for name, word in words_present
                if (amount := find_amount_beside(text, word, is_after=is_after)) is not None
            }
            if amounts.keys() - {""} and is_whole(sum(amounts.values())):
                return amounts
    lists = _LIST.findall(text)
    if len(lists) == 1:
        return place_amounts(debate, call, [parse_amount(part) for part in re.split("[/|;:]", lists[0])])
    raise ValueError(describe_beliefs(debate))


def find_amount_beside(text: str, word: str, *, is_after: bool) -> Fraction | None:
    """The last amount directly after a word, or directly before it; None without one."""
    word_pattern = rf"(?<!\w){re.escape(word)}(?!\w)"
    number = rf"(?P<amount>{NUMBER})(?![\d/]|\s/)"
    after = rf"{word_pattern}[^\w\n]{{0,6}}(?:(?:is|at|with|gets)\s)?[^\w\n-]{{0,3}}{number}"
    before = rf"{number}\s?(?:%|percent)?\s?(?:(?:for|to|on|in)\s)?{word_pattern}"
    amounts = [match["amount"] for match in re.finditer(after if is_after else before, text, re.IGNORECASE)]
    return parse_amount(amounts[-1]) if amounts else None


def place_amounts(debate: Debate, call: Call, amounts: Sequence[Fraction | None]) -> dict[str, Fraction]:
    """Amounts in the order in which the voter saw the positions; the amount for none comes last or is left out."""
    order = [*list_ballot_positions(debate, call), ""]
    if None in amounts or len(amounts) not in (len(order) - 1, len(order)):
        raise ValueError(describe_beliefs(debate))
    return {name: amount for name, amount in zip(order, amounts, strict=False) if amount is not None}


def is_whole(total: Fraction | int) -> bool:
    """Whether parts sum to one, or to a hundred, within rounding."""
    return any(abs(total / whole - 1) <= ROUNDING for whole in (Fraction(1), Fraction(100)))


def build_beliefs(
    debate: Debate, amounts: Mapping[str, Fraction], *, is_informative: bool
) -> tuple[Share, ...]:
    """Shares in the order declared; the share of none comes last."""
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
    """The point in a text such as "K73 2.1", or the turn in "K73, round 2"; None if there is none."""
    parts = value.values() if isinstance(value, Mapping) else take_list(value)
    text = " ".join(map(str, parts))
    labels = side_labels(debate)
    names = {
        name
        for name, label in labels.items()
        if re.search(rf"(?<!\w){re.escape(label)}(?!\w)", text, re.IGNORECASE)
    }
    if len(names) != 1:
        return None
    cited, _ = find_cited_points(debate, [text], 1)
    if cited:
        return cited[0]
    seat = names.pop()
    rounds = [turn.round for turn in debate.turns if turn.seat == seat and debate.is_active(turn)]
    number = _ROUND.search(re.sub(re.escape(labels[seat]), " ", text, flags=re.IGNORECASE))
    round_number = int(number[0]) if number else max(rounds, default=0)
    return Citation(seat=seat, round=round_number) if round_number in rounds else None


def clean_sentence(value: Any) -> str:
    """A text field on one line, cleaned and cut; "" for anything else."""
    return collapse_whitespace(clean_text(value))[:MAX_SENTENCE_LENGTH]
