"""What a seat is asked for in one call (`Duty`), and what one that reads each round consists of (`Seat`).

Each has its own file here, and a row in `registry`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from server.debate.commands.inputs import OfficerInput
from server.debate.documents.marks import disarm_marks, drop_marks
from server.debate.documents.quotes import find_span
from server.debate.facts.answers import Reading, Remark, Span
from server.debate.facts.events import AnswerEvent, Spoke
from server.debate.facts.fact import Fact
from server.debate.facts.quoting import quote
from server.debate.facts.text import clean, collapse_whitespace
from server.debate.prompts.response_schemas import ask_for_json
from server.debate.prompts.transcript import render_preamble
from server.debate.replies.extract import Reply, find_debaters, parse_text
from server.debate.rules.calls import Call
from server.debate.state.debate import Debate
from server.debate.state.seats import hides, hides_any

MAX_WHY_LENGTH = 400
"""Characters of a comment about such words that are stored."""

FEWEST_CHARACTERS = 4
"""Letters and digits that words must have to be searched: shorter ones occur in any turn."""

_QUOTATION_MARKS = (
    "\"'\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a\u2018\u2019`\u300c\u300d\u300e\u300f \n\t"
)


def shorten_line(text: str) -> str:
    return collapse_whitespace(text)[:MAX_WHY_LENGTH].rstrip()


def locate_words(debate: Debate, speaker: str, words: str) -> Span | None:
    """The position of these words in a turn of this speaker in the current round; None if it has none such."""
    speakers = find_debaters(debate, speaker)
    turns = [turn for turn in debate.transcript_turns(debate.round) if {turn.seat} == speakers]
    return find_words(debate, turns, words)


def find_words(debate: Debate, turns: list[Spoke], words: str) -> Span | None:
    """The position of these words in the first turn that contains them; None if none does.

    The words were copied from turns as shown, with the marks after quotes.
    """
    quote = drop_marks(clean(words)).strip(_QUOTATION_MARKS)
    if sum(map(str.isalnum, quote)) < FEWEST_CHARACTERS:
        return None
    for turn in filter(debate.is_active, turns):
        if span := find_span(quote, disarm_marks(turn.text)):  # which is as long as the turn
            place = {"seat": turn.seat, "round": turn.round, "slot_index": turn.slot_index}
            words_found = turn.text[span.start : span.end]
            return Span(**place, start=span.start, end=span.end, quote=words_found)
    return None


class Duty(ABC):
    task: ClassVar[str]  # as people call it
    fact: ClassVar[type[AnswerEvent]]  # records its answer

    is_data: ClassVar[bool] = False  # it counts only if the whole prompt was read, quotations apart
    is_strict: ClassVar[bool] = True  # models must keep to its schema, because the schema is ours
    template: ClassVar[str] = ""  # of the JSON asked for, in words; "" for prose

    def render_material(self, debate: Debate, call: Call) -> str:
        """The beginning of the prompt: question, documents, positions."""
        return render_preamble(debate, call)

    @abstractmethod
    def render_steps(self, debate: Debate, call: Call) -> Iterator[str]:
        """Who the seat is and what it must do now, unless it has a prompt of its own."""

    def render_format(self, debate: Debate, call: Call) -> Iterator[str]:
        """The last words: the names or positions to choose from, and the form of the answer."""
        if self.template:
            yield ask_for_json(self.template)

    @abstractmethod
    def build_schema(self, debate: Debate) -> dict[str, Any] | None:
        """The JSON Schema of the answer, or None. Our strings have a `maxLength`: small models need grammars."""

    @abstractmethod
    def parse(self, debate: Debate, call: Call, text: str, reply: Reply) -> dict[str, Any]:
        """The fields of the fact.

        Raises:
            ValueError: the reply is unusable; the text tells the model what to correct. It is asked once more.
        """


R = TypeVar("R", bound=Reading)
M = TypeVar("M", bound=Remark)


class Seat(Duty, Generic[R]):
    """A seat that is asked when all debaters have spoken in a round, together with the others of its kind.

    It steers nothing: its words are recorded, and people and other seats read them as far as its class says so.
    """

    # Who it is.
    name: ClassVar[str]
    """In debates, `options` and `options.visibility`, and as an option of the command line."""
    title: ClassVar[str]  # the heading of its readings
    help: ClassVar[str] = ""  # for its option of the command line; "" without one
    input: ClassVar[type[OfficerInput]] = OfficerInput  # the type of its option

    def find_input(self, options: Any) -> bool | OfficerInput | None:
        """The request for this seat, from options that contain its own; false or None for a debate without it.

        Raises:
            InvalidRequestError: its options contradict each other.
        """
        request: bool | OfficerInput | None = getattr(options, self.name)
        return request

    # What it is asked, and what it may answer, beside what `Duty` says.
    steps: ClassVar[str]
    is_data = True

    def render_steps(self, debate: Debate, call: Call) -> Iterator[str]:
        yield self.steps

    answer_factor: ClassVar[int] = 0  # tokens of its answer for each token of the turns, if it is long

    # How its reply is recorded.
    fact: ClassVar[type[Reading]]
    texts: ClassVar[Mapping[type[Fact], Mapping[str, int]]]
    """Its words in that fact and its parts: fields, each with its maximum length. People read names in them."""

    def find_problem(self, debate: Debate, reading: R) -> str:
        """Why this fact is impossible in this debate now, or "". Records from elsewhere are checked so."""
        return ""

    # Who reads it.
    def is_visible(self, debate: Debate) -> bool:
        """Whether clients may. It is about debaters' words, so it is hidden with them."""
        hidden = debate.setup.hidden_from_client
        return not (hides(debate.setup, hidden, self.name) or hides_any(debate.setup, hidden, "debaters"))

    def show(self, debate: Debate, call: Call) -> Iterator[str]:
        """What the prompt of another seat's call shows of its readings, before that seat's own task."""
        yield from ()

    # What people read of it. `named` is the debate as people read it: names replace labels.
    @abstractmethod
    def describe(self, debate: Debate, named: Debate, reading: R) -> str:
        """A reading of `named` in Markdown. Words of models are quoted in it (`facts.quoting`)."""

    @abstractmethod
    def build_round_fields(self, debate: Debate, named: Debate, round_number: int) -> dict[str, Any]:
        """Its fields in a round as data (`read_debate`, view `round`)."""

    def build_analysis_fields(self, named: Debate) -> dict[str, Any]:
        """Its fields in the analysis of a debate that has such a seat, as data."""
        return {}

    def build_verdict_fields(self, debate: Debate) -> dict[str, Sequence[str]]:
        """Its lines for the fields of a verdict in `registry.SeatFindings`."""
        return {}

    def list_cautions(self, debate: Debate) -> list[str]:
        """What weakens a verdict because of this seat, in sentences."""
        return []

    sections: ClassVar[Mapping[str, str]] = {}  # titles in a verdict in Markdown, by these fields

    # What hooks and subscribers get.
    hook_fields: ClassVar[
        tuple[str, ...]
    ] = ()  # properties of the fact that conditions and templates may use

    event_names: ClassVar[tuple[str, ...]] = ("agent_message",)  # possible public names of its readings

    def name_event(self, reading: R) -> str:
        """The public name of this reading."""
        return self.event_names[0]


class Commentator(Seat[M]):
    """A seat that answers in prose, which is part of the transcript for all who may read the seat."""

    is_data = False

    def build_schema(self, debate: Debate) -> None:
        """None: it answers in prose."""

    def parse(self, debate: Debate, call: Call, text: str, reply: Reply) -> dict[str, Any]:
        return parse_text(text, reply)

    def is_visible(self, debate: Debate) -> bool:
        """Its words are its own, whoever they are about."""
        return not hides(debate.setup, debate.setup.hidden_from_client, self.name)

    def describe(self, debate: Debate, named: Debate, reading: M) -> str:
        return quote(reading.text)
