"""The observer: it marks what turns do with words, and the accused may say something against it.

No rule searches for patterns of words: a model marks them, and the server only checks that its quotations are in the
turns. A quoted fallacy is not one, nor is one that is named to reject it, so keyword lists would find too much.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, Field

from server.debate.arguments.points import find_turn, is_in_turn
from server.debate.commands.inputs import Input, OfficerInput
from server.debate.documents.marks import disarm_marks
from server.debate.facts.answers import Contest, Reading, Span
from server.debate.facts.events import Spoke
from server.debate.facts.fact import Count, Fact
from server.debate.facts.quoting import quote, quote_heading, quote_verbatim
from server.debate.facts.text import collapse_whitespace, format_count
from server.debate.prompts.response_schemas import (
    enum_schema,
    list_schema,
    nullable_schema,
    object_schema,
    text_schema,
)
from server.debate.replies.extract import OptionalText, Reply, find_debaters, find_list, normalize_keys
from server.debate.rules.calls import Call
from server.debate.seats.seat import MAX_WHY_LENGTH, Seat, find_words, locate_words, shorten_line
from server.debate.state.debate import Debate
from server.debate.state.labels import side_labels, turn_text
from server.debate.state.seats import hides

NAME = "observer"

MAX_MARKS = 40
"""Of one round."""

Pattern = Literal[
    "concession",
    "rebuttal",
    "synthesis",
    "appeal_to_authority",
    "appeal_to_evidence",
    "straw_man",
    "ad_hominem",
    "emotional_appeal",
]
"""What words in a turn do."""

ALLEGATIONS: tuple[Pattern, ...] = (
    "straw_man",
    "ad_hominem",
    "appeal_to_authority",
    "emotional_appeal",
    "concession",
)
"""Patterns that count against a debater: it reads those marked in its own turns, and may contest them."""

PATTERNS: dict[str, Pattern] = {pattern.replace("_", ""): pattern for pattern in get_args(Pattern)}
"""By letters only, because models spell them in many ways."""

# What is asked for.


class ObserverInput(OfficerInput):
    shown: Annotated[bool, Field(description="Judges read it, too")] = False


class ObserverOptions(Input):
    observer: Annotated[bool | ObserverInput, Field(description="Marks what turns do with words")] = False


STEPS = """\
You are the observer. Mark what the turns of this round do with words; you judge no position, and steer nothing.
- concession: gives up a point of its own case, or grants one that was made against it.
- rebuttal: answers a particular point of another with a reason.
- synthesis: makes a position out of its own and another's.
- appeal to authority: somebody's standing in place of a reason, where that person's evidence is not given.
- appeal to evidence: rests a claim on a source, a figure or a case that could be looked up.
- straw man: answers another's point in a form that was not said; of and original_words say whose words it is made of.
- ad hominem: goes against a person in place of a claim.
- emotional appeal: a feeling in place of a reason.
What a turn quotes, reports, or names in order to reject it, is not its own. A source whose evidence is given is no \
authority; harshness about a claim is no ad hominem; a feeling that is a fact of the matter is no appeal to it.
Copy the words exactly from the turn, at most two sentences. Mark nothing you are unsure of; many turns have no mark."""

TEMPLATE = (
    '{"marks": [{"pattern": "its name", "speaker": "a label", "words": "copied", '
    '"of": "a label or null", "original_words": "copied, or null", "why": "in a sentence"}]}'
)

CONTEST_STEPS = (
    "An observer alleges this of your last turns. Nobody answers for it, and you need not. Where it is wrong, end your "
    "reply with a line for each, apart from your turn: CONTEST 1: why"
)
MATERIAL = (
    "An observer alleges this of the rhetoric of turns. It may be wrong, and does not say who is right:"
)

# What is recorded.


class Mark(Fact):
    """A pattern that the observer alleges to be in a turn. The server finds the words that it quotes."""

    pattern: Pattern
    said: Span
    original: Span | None = None  # of a straw man: the words of somebody else that were made into `said`
    why: str = ""  # the observer's words


class Observed(Reading):
    """The rhetoric of a round as the observer alleges it. It steers nothing."""

    kind: Literal["observed"] = "observed"
    seat: str = NAME
    marks: tuple[Mark, ...] = ()
    dropped: Count = 0  # allegations whose words are not in the turn named

    @property
    def patterns(self) -> str:
        """The patterns marked, each once."""
        return ", ".join(dict.fromkeys(mark.pattern for mark in self.marks))


class ObserverFindings(BaseModel):
    """The observer's field of a verdict."""

    rhetoric: Annotated[list[str], Field(description="As alleged by the observer")] = []


class Observer(Seat[Observed]):
    name = NAME
    title = "Observer"
    help = "An observer marks the rhetoric of each round."
    task = "observation"
    input = ObserverInput
    steps = STEPS
    template = TEMPLATE
    fact = Observed
    texts = {Mark: {"why": MAX_WHY_LENGTH}}
    sections = {"rhetoric": "Rhetoric"}
    hook_fields = ("patterns",)
    event_names = ("rhetorical_pattern", "agent_message")

    def build_schema(self, debate: Debate) -> dict[str, Any]:
        mark = object_schema(
            pattern=enum_schema([pattern.replace("_", " ") for pattern in get_args(Pattern)]),
            speaker=enum_schema(debate.setup.labels),
            words=text_schema(600),
            of=nullable_schema(enum_schema(debate.setup.labels)),
            original_words=nullable_schema(text_schema(600)),
            why=text_schema(300),
        )
        return object_schema(marks=list_schema(mark, MAX_MARKS))

    def parse(self, debate: Debate, call: Call, text: str, reply: Reply) -> dict[str, Any]:
        rows, _ = find_list(text, "marks")
        marks = [read_mark(debate, row) for row in rows[:MAX_MARKS]]
        distinct_marks = tuple(dict.fromkeys(mark for mark in marks if mark))
        return {"marks": distinct_marks, "dropped": marks.count(None) + max(len(rows) - MAX_MARKS, 0)}

    def find_problem(self, debate: Debate, reading: Observed) -> str:
        for mark in reading.marks:
            spans = (mark.said, mark.original) if mark.original else (mark.said,)
            if any(not is_in_turn(debate, span) for span in spans):
                return "its words are not in the turn that it names"
            if mark.said.round != reading.round:
                return "it is about another round"
            if (mark.original is not None) != (mark.pattern == "straw_man"):
                return "a straw man is made of the words of another, and nothing else is"
            if mark.original and mark.original.seat == mark.said.seat:
                return "nobody makes a straw man of their own words"
        return "" if len(reading.marks) <= MAX_MARKS else "there are too many marks"

    def show(self, debate: Debate, call: Call) -> Iterator[str]:
        """To the accused, what it may contest in this turn; to judges, everything, if the options say so."""
        observer = debate.setup.find_officer(NAME)
        if call.task == "argument":
            yield from render_contestable(debate, call)
        is_hidden = NAME in debate.setup.hidden_from_seats
        if call.task == "judgment" and observer and observer.shown and not is_hidden:
            yield from render_marks(debate, call.reading)

    def describe(self, debate: Debate, named: Debate, reading: Observed) -> str:
        """A line and the words for each mark."""
        parts = ["As the observer alleges:" if reading.marks else "The observer marked nothing."]
        for number, mark in enumerate(reading.marks):
            contest = find_contest(named, Allegation(reading.round, number, mark))
            of = f" of what {mark.original.seat} said" if mark.original else ""
            parts += [f"**{mark.said.seat}, {name_pattern(mark.pattern)}**", quote(mark.said.quote)]
            parts += [f"made{of}:", quote(mark.original.quote)] if mark.original else []
            parts += [f"{mark.said.seat} contests it: {quote_heading(contest)}"] if contest else []
        if reading.dropped:
            dropped_count = format_count(reading.dropped, "allegation")
            parts.append(f"Left out: {dropped_count} whose words are not in the turns named.")
        return "\n\n".join(parts)

    def build_round_fields(self, debate: Debate, named: Debate, round_number: int) -> dict[str, Any]:
        marks = [made for made in list_marks(named) if made.mark.said.round == round_number]
        return {"marks": [build_mark_row(named, made) for made in marks]}

    def build_analysis_fields(self, named: Debate) -> dict[str, Any]:
        """How many turns of each debater have each pattern, and every mark with its span."""
        readings = named.find_readings(Observed)
        rhetoric = {
            "observed_rounds": [reading.round for reading in readings if reading.informative],
            "dropped": sum(reading.dropped for reading in readings),
            "debaters": {
                name: {"turns": count_active_turns(named, name), "patterns": patterns}
                for name, patterns in count_patterns(named).items()
            },
            "marks": [build_mark_row(named, allegation) for allegation in list_marks(named)],
        }
        return {"rhetoric": rhetoric}

    def build_verdict_fields(self, debate: Debate) -> dict[str, Sequence[str]]:
        return {"rhetoric": list_rhetoric_lines(debate)}

    def name_event(self, reading: Observed) -> str:
        pattern, message = self.event_names
        return pattern if reading.marks else message


# How its reply is read.


class Row(BaseModel):
    """A mark as the model writes it, with keys in any spelling."""

    pattern: OptionalText = ""
    speaker: OptionalText = ""
    words: OptionalText = ""
    of: OptionalText = ""
    original_words: OptionalText = ""
    why: OptionalText = ""


def read_mark(debate: Debate, row: Any) -> Mark | None:
    """The mark in a row; None if its words are not in the turn named."""
    mark_row = Row.model_validate(normalize_keys(row))
    pattern = PATTERNS.get("".join(filter(str.isalpha, mark_row.pattern.casefold())))
    span = locate_words(debate, mark_row.speaker, mark_row.words)
    if pattern is None or span is None:
        return None
    original = None
    if pattern == "straw_man":
        authors = find_debaters(debate, mark_row.of) - {span.seat}
        turns = chain.from_iterable(map(debate.transcript_turns, range(debate.round, 0, -1)))
        earlier = [turn for turn in turns if {turn.seat} == authors]
        original = find_words(debate, earlier, mark_row.original_words)
        if original is None:
            return None
    return Mark(pattern=pattern, said=span, original=original, why=shorten_line(mark_row.why))


# What the marks come to.


class Allegation(NamedTuple):
    """A mark, with the round of its observation and its number in it."""

    round: int
    number: int
    mark: Mark


def list_marks(debate: Debate) -> Iterator[Allegation]:
    """The marks on turns that were not retracted, in the order recorded."""
    for reading in debate.find_readings(Observed):
        for number, mark in enumerate(reading.marks):
            turn = find_turn(debate, mark.said)
            if turn and debate.is_active(turn):
                yield Allegation(reading.round, number, mark)


def name_pattern(pattern: Pattern) -> str:
    return pattern.replace("_", " ")


def count_patterns(debate: Debate) -> dict[str, dict[Pattern, int]]:
    """In how many turns of each debater each pattern was marked."""
    turns_by_pattern: dict[str, dict[Pattern, set[tuple[int, int]]]] = {name: {} for name in debate.names}
    for _, _, mark in list_marks(debate):
        turns = turns_by_pattern[mark.said.seat].setdefault(mark.pattern, set())
        turns.add((mark.said.round, mark.said.slot_index))
    return {
        name: {pattern: len(turns) for pattern, turns in patterns.items()}
        for name, patterns in turns_by_pattern.items()
    }


def count_active_turns(debate: Debate, seat: str) -> int:
    return sum(turn.seat == seat and debate.is_active(turn) for turn in debate.turns)


def list_rhetoric_lines(debate: Debate) -> list[str]:
    """A line for each debater with marked turns; [] without an observer."""
    lines = []
    contested = Counter(
        (a.mark.said.seat, a.mark.pattern) for a in list_marks(debate) if find_contest(debate, a)
    )
    for name, patterns in count_patterns(debate).items():
        parts = []
        for pattern, count in patterns.items():
            contests = contested[name, pattern]
            parts.append(f"{name_pattern(pattern)} in {count}" + f" ({contests} contested)" * bool(contests))
        if parts:
            turns = count_active_turns(debate, name)
            lines.append(f"{name}, of {turns} turns, as the observer alleges: {', '.join(parts)}")
    return lines


def build_mark_row(debate: Debate, allegation: Allegation) -> dict[str, Any]:
    mark = allegation.mark
    return {
        "pattern": mark.pattern,
        "said": mark.said.model_dump(),
        "original": mark.original.model_dump() if mark.original else None,
        "why": mark.why,
        "contested": find_contest(debate, allegation),
        "alleged_by": NAME,
    }


# What the prompts of others show of them.


def render_contestable(debate: Debate, call: Call) -> Iterator[str]:
    """What is alleged of this debater's last turns; it may contest it in this one."""
    allegations = list_contestable(debate, call.seat)
    if allegations:
        yield CONTEST_STEPS
    for number, allegation in enumerate(allegations, start=1):
        yield f"{number}. {name_pattern(allegation.mark.pattern)}:\n{quote_words(debate, allegation.mark.said)}"
        original = allegation.mark.original
        if original and not hides(debate.setup, debate.setup.hidden_from_seats, original.seat):
            yield f"made of what {side_labels(debate)[original.seat]} said:\n{quote_words(debate, original)}"


def render_marks(debate: Debate, reading: int) -> Iterator[str]:
    """All allegations, for a judge's reading."""
    labels, allegations = side_labels(debate, reading), list(list_marks(debate))
    if allegations:
        yield MATERIAL
    for allegation in allegations:
        span, original = allegation.mark.said, allegation.mark.original
        yield f"{labels[span.seat]} in round {span.round}, {name_pattern(allegation.mark.pattern)}:"
        yield quote_words(debate, span, reading)
        if original:
            yield f"made of what {labels[original.seat]} said:\n{quote_words(debate, original, reading)}"
        if why := find_contest(debate, allegation):
            yield f"{labels[span.seat]} contests it:\n{quote_verbatim(disarm_marks(turn_text(debate, why, reading)))}"


def quote_words(debate: Debate, span: Span, reading: int = 1) -> str:
    return quote_verbatim(disarm_marks(turn_text(debate, span.quote, reading)))


# What the accused says to it. Debaters ask for it in their turns.

_CONTEST = re.compile(
    r"^[ \t*_>#-]{0,6}CONTEST[ \t]{1,3}(\d{1,3})[ \t*_]{0,4}[:.\u2013\u2014-][ \t]*(\S.*)$", re.MULTILINE
)


def list_contestable(debate: Debate, seat: str) -> tuple[Allegation, ...]:
    """What is alleged of a debater and was not shown to it yet: it may contest it in its next argument."""
    if not debate.readings:
        return ()
    rounds = [turn.round for turn in debate.turns if turn.seat == seat and turn.act == "argument"]
    since = max((number for number in rounds if number < debate.round), default=0)
    if debate.round in rounds:
        return ()
    return tuple(
        allegation
        for allegation in list_marks(debate)
        if allegation.mark.said.seat == seat
        and allegation.mark.pattern in ALLEGATIONS
        and since <= allegation.round < debate.round
    )


def take_contests(debate: Debate, seat: str, text: str) -> tuple[str, tuple[Contest, ...]]:
    """(the turn without the lines that contest marks on the seat's earlier turns, what those lines say)."""
    allegations = list_contestable(debate, seat)
    contests: dict[int, Contest] = {}
    for match in _CONTEST.finditer(text):
        if 0 < (number := int(match[1])) <= len(allegations):
            mark = allegations[number - 1]
            why = collapse_whitespace(match[2])[:MAX_WHY_LENGTH]
            contests[number] = Contest(round=mark.round, number=mark.number, why=why)
    if not contests:
        return text, ()
    turn_text = _CONTEST.sub(lambda match: "" if int(match[1]) in contests else match[0], text)
    return turn_text.strip(), tuple(contests.values())


def find_contest(debate: Debate, allegation: Allegation) -> str:
    """What the accused answered; "" for nothing."""
    contests = (contest for turn in debate.turns for contest in turn.contests)
    key = (allegation.round, allegation.number)
    return next((contest.why for contest in contests if (contest.round, contest.number) == key), "")


def find_contest_problem(debate: Debate, turn: Spoke) -> str:
    """Why a turn cannot contest what it contests; "" if it can."""
    if not turn.contests:
        return ""
    contestable = {(made.round, made.number) for made in list_contestable(debate, turn.seat)}
    contested = [(contest.round, contest.number) for contest in turn.contests]
    is_possible = len(set(contested)) == len(contested) and contestable.issuperset(contested)
    return "" if is_possible and turn.act == "argument" else "it contests what was not put to it"
