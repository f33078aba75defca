"""What an observer saw in the turns of a round, each with its place in the turn; and what the accused say to it."""

import re
from itertools import chain
from typing import Annotated, Any, get_args

from pydantic import BaseModel, BeforeValidator

from server.debate.ballots.rhetoric import MAX_MARKS, list_contestable
from server.debate.documents.marks import disarm_marks, drop_marks
from server.debate.documents.quotes import find_span
from server.debate.facts.answers import Contest, Mark, Pattern, Span
from server.debate.facts.events import Spoke
from server.debate.facts.text import clean, collapse_whitespace
from server.debate.replies.extract import Reply, find_debaters, find_list, normalize_keys
from server.debate.rules.calls import Call
from server.debate.state.debate import Debate
from server.debate.state.labels import locate_relabelled, relabel

MAX_WHY_LENGTH = 400
"""Characters of what the observer, or the accused, says about a mark that are kept."""

FEWEST_CHARACTERS = 4
"""Of letters and digits in words that are looked for: fewer stand in any turn."""

PATTERNS: dict[str, Pattern] = {pattern.replace("_", ""): pattern for pattern in get_args(Pattern)}
"""By letters only, as models write them in many ways."""

_QUOTATION_MARKS = (
    "\"'\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a\u2018\u2019`\u300c\u300d\u300e\u300f \n\t"
)
_CONTEST = re.compile(
    r"^[ \t*_>#-]{0,6}CONTEST[ \t]{1,3}(\d{1,3})[ \t*_]{0,4}[:.\u2013\u2014-][ \t]*(\S.*)$", re.MULTILINE
)


def read_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


OptionalText = Annotated[str, BeforeValidator(read_text)]


class Allegation(BaseModel):
    """A mark as it comes in, with keys in any spelling."""

    pattern: OptionalText = ""
    speaker: OptionalText = ""
    words: OptionalText = ""
    of: OptionalText = ""
    original_words: OptionalText = ""
    why: OptionalText = ""


def parse_observation(debate: Debate, _call: Call, text: str, reply: Reply) -> dict[str, Any]:
    """The fields of an `Observed` event. What a model too small for it says is not read.

    Raises:
        ValueError: there is no list of marks.
    """
    if not reply.informative:
        return {}
    given, _ = find_list(text, "marks")
    marks = [find_mark(debate, row) for row in given[:MAX_MARKS]]
    kept = tuple(dict.fromkeys(mark for mark in marks if mark))
    return {"marks": kept, "dropped": marks.count(None) + max(len(given) - MAX_MARKS, 0)}


def find_mark(debate: Debate, row: Any) -> Mark | None:
    """The mark that an allegation is; None where its words are not in the turn that it names."""
    read = Allegation.model_validate(normalize_keys(row))
    pattern = PATTERNS.get("".join(filter(str.isalpha, read.pattern.casefold())))
    speakers = find_debaters(debate, read.speaker, prefer_names=True)
    if pattern is None or len(speakers) != 1:
        return None
    speaker = speakers.pop()
    turns = [turn for turn in debate.transcript_turns(debate.round) if turn.seat == speaker]
    said = find_words(debate, turns, read.words)
    original = None
    if pattern == "straw_man":
        others = find_debaters(debate, read.of, prefer_names=True) - {speaker}
        numbers = range(debate.round, 0, -1)
        said_before = chain.from_iterable(debate.transcript_turns(number) for number in numbers)
        earlier = [turn for turn in said_before if {turn.seat} == others]
        original = find_words(debate, earlier, read.original_words)
        said = said if original else None
    why = collapse_whitespace(clean(read.why))[:MAX_WHY_LENGTH]
    return Mark(pattern=pattern, said=said, original=original, why=why) if said else None


def find_words(debate: Debate, turns: list[Spoke], words: str) -> Span | None:
    """Where the first of the turns that holds these words has them; None where none does.

    The words are copied from turns as they were shown: with labels, and with the marks behind quotes.
    """
    wanted = drop_marks(clean(words)).strip(_QUOTATION_MARKS)
    if sum(map(str.isalnum, wanted)) < FEWEST_CHARACTERS:
        return None
    for turn in filter(debate.is_active, turns):
        text = disarm_marks(turn.text)  # as long as the turn
        found = find_span(wanted, text)
        start, end = (found.start, found.end) if found else (0, 0)
        if not found and (shown := find_span(wanted, relabel(debate, text))):
            start, end = locate_relabelled(debate, turn.text, shown.start, shown.end)
        if end:
            place = {"seat": turn.seat, "round": turn.round, "slot_index": turn.slot_index}
            return Span(**place, start=start, end=end, quote=turn.text[start:end])
    return None


def take_contests(debate: Debate, seat: str, text: str) -> tuple[str, tuple[Contest, ...]]:
    """(the turn without the lines that contest marks on earlier turns of the seat, what they say)."""
    told = list_contestable(debate, seat)
    made: dict[int, Contest] = {}
    for match in _CONTEST.finditer(text):
        if 0 < (number := int(match[1])) <= len(told):
            mark = told[number - 1]
            why = collapse_whitespace(match[2])[:MAX_WHY_LENGTH]
            made[number] = Contest(round=mark.round, number=mark.number, why=why)
    if not made:
        return text, ()
    rest = _CONTEST.sub(lambda match: "" if int(match[1]) in made else match[0], text)
    return rest.strip(), tuple(made.values())
