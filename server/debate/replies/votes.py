"""What a judge or a voter found: from JSON, from lines such as "Winner: Sorrel", or from prose with one clear finding.

Models answer in many shapes. Whatever names exactly one position is understood; what could mean two is refused,
with a sentence that says what was unclear, and is never resolved by guessing.
"""

import re
from collections.abc import Mapping
from typing import Any

from server.debate.facts.beliefs import Belief, Criterion
from server.debate.facts.labels import side_labels
from server.debate.facts.state import Debate
from server.debate.facts.text import clean
from server.debate.prompts.response_schemas import CRITERIA
from server.debate.replies.extract import find_debaters, find_json, find_sections, normalize_name
from server.debate.rules.counting import CLEAR_MARGIN
from server.debate.rules.decide import Call

MAX_FIELD_LENGTH = 4_000  # characters of a field of an answer that are kept
MAX_CLAUSE_LENGTH = 200  # characters before and after a finding in prose that may deny it
WINNER_LEAD = 20
"""Percent by which the most likely position leads the next, where a judge names beliefs and no winner."""

NO_SIDE = frozenset(
    {
        "none",
        "null",
        "no",
        "nobody",
        "neither",
        "nothing",
        "n/a",
        "na",
        "tie",
        "tied",
        "draw",
        "even",
        "undecided",
    }
    | {"abstain", "abstains", "abstention", "no one", "no winner", "no position", "no side", "none of them"}
    | {"none of the above", "no clear winner", "no finding", "inconclusive"}
    | {"neither side", "neither position", "it is a tie", "a tie", "a draw"}
)
SYNTHESES = frozenset({"both", "synthesis", "compromise", "both of them", "both positions", "a synthesis"})
MARGIN_WORDS = {
    0: {"none", "no", "zero", "tie", "even"},
    1: {"low", "narrow", "slight", "small", "weak", "close", "thin"},
    2: {"medium", "moderate", "fair", "solid", "good"},
    3: {"high", "large", "clear", "strong", "wide", "decisive", "big", "overwhelming"},
}
"""Margins that models give in words where they give no beliefs."""

_GAP = r"[^\w\n]{0,6}"
_SIDE = rf"{_GAP}(?:the )?(?:position |option |side )?{{side}}"
_NOUN = (
    r"(?:winner|finding|verdict|decision|choice|vote|answer|judge?ment)(?: (?:of|in) (?:this|the) \w{1,20})?"
)
_VERB = r"(?:find|found|decide|decided|rule|ruled|vote|voted|side|sided|choose|chose|favou?r|prefer)s?"
_ADVERBS = r"(?:(?:clearly|narrowly|therefore|thus|has|is|was) ){0,3}"
_PRAISE = (
    r"(?:wins|won|prevails|prevailed|the winner|carries|right|stronger|better supported|better argued|more convincing|"
    r"more persuasive|(?:made|makes|had|have|the) (?:the )?(?:better|stronger) (?:case|argument))"
)
_FINDINGS = (
    rf"\b{_NOUN}\b{_GAP}(?:is|goes|would be|must go)?{_GAP}(?:for|to|in favou?r of)?{_SIDE}",
    rf"\b{_VERB}\b{_GAP}(?:for|with|in favou?r of)?{_SIDE}",
    rf"\b(?:better|stronger) (?:case|argument)s? (?:was|is|were|came|comes) (?:made )?(?:by|from){_SIDE}",
    rf"{{side}}{_GAP}(?:\([^)\n]{{0,60}}\))?{_GAP}{_ADVERBS}{_PRAISE}",
)
"""Clear findings in prose; {side} stands for a label."""

_NO_FINDING = re.compile(
    r"\b(?:no (?:clear )?winner|it is a (?:tie|draw)|a tie\b|both (?:sides|positions) (?:are|were) (?:equally|right)|"
    r"(?:no position|neither(?: side| position)?) (?:wins|won|prevails|prevailed)|I abstain\b)",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\b(?:not|never|cannot|nor|hardly|unless|if|whether|or|could|might|may|perhaps|maybe|possibly|probably|unclear|"
    r"unlikely|doubt\w{0,5})\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_HEARSAY = re.compile(r"\b(?:says?|said|claim(?:s|ed)|argue[sd]|according|quote[sd]?)\b", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[.,;!?\n\u3002\uff0c\u2014]")
_FILLERS = re.compile(
    r"\b(?:the|my|final|option|position|side|answer|choice|winner|vote|finding|verdict|is|for|to|of|i)\b",
    re.IGNORECASE,
)


def parse_judgment(debate: Debate, call: Call, text: str, *, is_informative: bool) -> dict[str, Any]:
    """The fields of a `Judged` event. A finding that is not informative need not agree with itself.

    Raises:
        ValueError: there is no finding, or it is unclear; the text tells the judge what was.
    """
    fields = find_fields(text, ("winner", "beliefs"))
    if fields is None:
        winner = find_prose_finding(debate, text, call.reading)
        return {"winner": winner, "margin": int(bool(winner)), "verdict": clean_text(text), "reasoning": ""}
    beliefs = parse_beliefs(debate, fields.get("beliefs"), call.reading)
    named = fields.get("winner", ...)
    if named is ... and not beliefs:
        raise ValueError('"winner" is missing: name one position, or null')
    winner = find_leader(beliefs) if named is ... else resolve_vote(debate, named, "winner", call.reading)
    if is_informative:
        check_beliefs(debate, winner, beliefs, call.reading)
        check_findings(debate, winner, fields, text, call.reading)
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
    }


def parse_ballot(debate: Debate, call: Call, text: str) -> dict[str, Any]:
    """The fields of a `Balloted` event.

    Raises:
        ValueError: there is no choice, or it is unclear.
    """
    fields = find_fields(text, ("choice", "vote"))
    if fields is None:
        return {"choice": find_prose_finding(debate, text, call.reading), "reasoning": clean_text(text)}
    choice = resolve_vote(debate, fields.get("choice", fields.get("vote")), "choice", call.reading)
    check_findings(debate, choice, fields, text, call.reading)
    return {
        "choice": choice,
        "reasoning": clean_text(fields.get("reasoning")),
    }


def find_fields(text: str, wanted: tuple[str, ...]) -> dict[str, Any] | None:
    """The last JSON object or the headed lines that hold one of these fields; None for prose.

    Raises:
        ValueError: there is JSON, and it is malformed or lacks all of the fields.
    """
    sections = find_sections(text, (*wanted, "verdict", "reasoning", "margin"))
    try:
        found: dict[str, Any] = find_json(text, wanted)
    except ValueError:
        if any(name in sections for name in wanted):
            return {
                name: below.partition("\n")[0] if name in wanted else below
                for name, below in sections.items()
            }
        if "{" in text and '"' in text:
            raise
        return None
    fields = {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(key)).lower(): value for key, value in found.items()}
    if any(name in fields for name in wanted):
        return fields
    raise ValueError(f'the JSON of the reply has no "{wanted[0]}"')


def clean_text(value: Any) -> str:
    """A text field, cleaned and cut; "" for what is missing or no text."""
    return clean(value)[:MAX_FIELD_LENGTH] if isinstance(value, str) else ""


def resolve_vote(debate: Debate, choice: Any, field: str, reading: int) -> str:
    """The debater whom a vote means; "" for none.

    Raises:
        ValueError: it means no position here, or two, or it is hedged.
    """
    text = choice if isinstance(choice, str) else "" if choice is None else str(choice)
    if normalize_name(text) in NO_SIDE | SYNTHESES or not normalize_name(text):
        return ""
    found = find_debaters(debate, text, reading=reading)
    problem = "names more than one position" if found else "names no position"
    if not found:
        found, rest = find_mentioned(debate, text, reading)
        is_doubtful = len(found) == 1 and bool(_DOUBT.search(rest))
        problem = "is unclear" if is_doubtful else "names more than one position" if found else problem
        found = set() if is_doubtful else found
    if len(found) != 1:
        labels = ", ".join(debate.setup.labels)
        raise ValueError(f'"{field}" {problem}: it must be one of {labels}, or null')
    return next(iter(found))


def find_mentioned(debate: Debate, text: str, reading: int) -> tuple[set[str], str]:
    """(the debaters whose label, or else whose name or stance, occurs in a choice; what else it says).

    For example "Option Sorrel", "Sorrel (Ada)", "Sorrel. Keep it".
    """
    stances = {d.name: d.stance for d in debate.setup.debaters}
    for words in (side_labels(debate, reading), {name: name for name in debate.names}, stances):
        patterns = {
            name: re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
            for name, word in words.items()
        }
        if found := {name for name, pattern in patterns.items() if pattern.search(text)}:
            for name in found:
                for word in (words[name], stances[name], name):
                    text = re.sub(re.escape(word), " ", text, flags=re.IGNORECASE)
            return found, text
    return set(), text


def find_prose_finding(debate: Debate, text: str, reading: int) -> str:
    """The position that prose finds for; "" where it finds for none.

    Raises:
        ValueError: it does not say, or it says so of several.
    """
    own = "\n".join(line for line in text[-MAX_FIELD_LENGTH:].splitlines() if not line.startswith(">"))
    if normalize_name(own) in NO_SIDE:
        return ""
    found = find_findings(debate, own, reading)
    if not found:
        mentioned, rest = find_mentioned(debate, own, reading)
        found = set() if re.search(r"\w", _FILLERS.sub("", rest)) else mentioned
    if len(found) != 1:
        labels = ", ".join(debate.setup.labels)
        problem = "finds for more than one position" if found else "holds no clear finding"
        raise ValueError(f"the reply {problem}; answer with JSON, and with one of {labels} or null")
    return next(iter(found), "")


def find_findings(debate: Debate, text: str, reading: int) -> set[str]:
    """The debaters for whom prose finds in so many words, "" for nobody."""
    patterns = [("", _NO_FINDING)]
    for name, label in side_labels(debate, reading).items():
        side = rf"[*_\"“]{{0,3}}\b{label}\b"
        patterns += [(name, re.compile(p.replace("{side}", side), re.IGNORECASE)) for p in _FINDINGS]
    return {
        name for name, pattern in patterns for match in pattern.finditer(text) if is_own_finding(text, match)
    }


def check_findings(debate: Debate, winner: str, fields: Mapping[str, Any], text: str, reading: int) -> None:
    """Raise ValueError where an answer under headings finds for somebody else in its prose."""
    is_headed = "" in fields  # what stands before the first heading
    if is_headed and find_findings(debate, text[-MAX_FIELD_LENGTH:], reading) - {winner}:
        raise ValueError("the reply finds for more than one position; answer with JSON")


def is_own_finding(text: str, match: re.Match[str]) -> bool:
    """Whether the clause of a finding neither denies nor hedges nor reports it."""
    before = _CLAUSE_END.split(text[max(match.start() - MAX_CLAUSE_LENGTH, 0) : match.start()])[-1]
    after = _CLAUSE_END.split(text[match.end() : match.end() + MAX_CLAUSE_LENGTH])[0]
    return not (_DOUBT.search(before + match[0]) or _DOUBT.search(after) or _HEARSAY.search(before))


def parse_beliefs(debate: Debate, value: Any, reading: int) -> tuple[Belief, ...]:
    """Percentages that sum to 100, in the order declared, the belief in none last; () where none are usable."""
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
    total = sum(amounts.values())
    if not total:
        return ()
    exact = {name: amount * 100 / total for name, amount in amounts.items()}
    percent = {name: int(share) for name, share in exact.items()}
    missing = 100 - sum(percent.values())
    for name in sorted(exact, key=lambda name: percent[name] - exact[name])[:missing]:
        percent[name] += 1  # largest remainder
    return tuple(Belief(name=name, percent=share) for name, share in percent.items())


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
        return sum(lead >= step for step in (20, 50, 80))
    if isinstance(given, str):
        words = set(re.findall(r"[a-z]+", given.casefold()))
        by_words = [margin for margin, known in MARGIN_WORDS.items() if words & known]
        if len(by_words) == 1:
            return by_words[0]
    number = parse_number(given)
    return 1 if number is None else min(max(int(number), 0), CLEAR_MARGIN + 1)


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
