"""What answers have in common, what is marked in them, what is looked up and read beside them, and stand-ins."""

from hashlib import sha256
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from server.debate.facts.beliefs import Citation, ShareText
from server.debate.facts.fact import Count, Dollars, Fact
from server.debate.facts.setup.seats import ANALYST, METER, READER, SeatPrompt
from server.debate.facts.text import clean, collapse_whitespace

PointKind = Literal["fact", "value", "forecast"]

ClaimRelation = Literal["supports", "attacks", "undercuts", "repeats", "concedes"]
"""What a claim does to another. `undercuts`: even if it is true, it does not show what it is to show."""

MESSAGE_SLOT = 60
"""The slot index of a message that comes with a turn: above those of turns. The answers to such come after it."""

MessageAct = Literal["question", "proposal", "critique"]

UsageName = Annotated[str, AfterValidator(lambda name: collapse_whitespace(clean(name))[:200])]


class Usage(Fact):
    """What one answer took. Tokens as the provider counts them; 0 where it does not report them."""

    model: UsageName
    author: UsageName = ""  # who submitted it, of an answer of the caller; "" for answers of models
    input_tokens: Count = 0
    cached_tokens: Count = 0  # the part of input_tokens that the provider had in its cache
    output_tokens: Count = 0
    thinking_tokens: Count = 0  # the part of output_tokens that was thought and not written
    cost_usd: Dollars = ""
    milliseconds: Count = 0
    attempts: Count = 1
    sent_tokens: Count = 0  # of a prompt of which the model read only a part, at least; 0 for one read whole
    prompt_sha256: Annotated[str, Field(pattern="^([0-9a-f]{64})?$")] = ""
    """Of what was asked, as `hash_request` has it; "" where no model was."""
    reused_from: Annotated[str, Field(pattern="^([2-9a-hjkmnp-z]{12}#[0-9]{1,9})?$")] = ""
    """The entry of another debate that had the same answer: nobody was asked. "" for every other answer."""
    reused_tokens: Count = 0  # read and written, that it took there
    reply_id: UsageName = ""  # the provider's name of the answer, if it gives one


class SlotFact(Fact):
    """What answers, failures and research have in common: the slot of the round they are for."""

    seat: str
    round: int
    slot_index: Count = 0  # which of the seat's answers in this round
    seen: Annotated[int, Field(ge=1)]  # the version of the debate that the prompt was rendered from


class Answer(SlotFact):
    usage: Usage


class Reading(Answer):
    """What a seat reads in a round. It steers nothing.

    Each seat of `debate.seats` has a class of its own, in its file. Whatever is below those knows this one alone.
    """

    kind: str
    informative: bool = True  # False: the model is too small to have read anything


class Remark(Reading):
    """A reading in prose that stands in the transcript: other seats read it, unless its own is hidden from them."""

    heading: ClassVar[str]  # above it there
    text: str
    cut: bool = False


class DirectMessage(Fact):
    """What a debater asks another beside its turn. Other debaters do not read it."""

    act: MessageAct
    to: str
    text: str


class Span(Fact):
    """Words of a turn: `quote` is its text from `start` to `end`."""

    seat: str
    round: Count
    slot_index: Count = 0
    start: Count
    end: Count
    quote: str


class Contest(Fact):
    """What a debater says against what a seat reads in its own turn, apart from what it argues."""

    round: Count  # of the reading
    number: Count  # of the part of it, from 0
    why: str


class ClaimLink(Fact):
    """What a claim does to a point that its author had read."""

    relation: ClaimRelation
    to: Citation


class Claim(Fact):
    """What a turn claims, as the analyst reads it. Its words are found in the turn by the server."""

    said: Span
    wording: str  # in a sentence that can be read on its own
    kind: PointKind = "fact"
    evidence: str = ""  # what the turn names as its source
    links: tuple[ClaimLink, ...] = ()
    same_as: tuple[Citation, ...] = ()  # points of other debaters that claim the same


class LeftOut(Fact):
    """Words of a turn that are no claim, because they can be read in two ways."""

    said: Span
    why: str = ""  # the analyst's words


class Extracted(Reading):
    """What the turns of a round claim, as the analyst reads them. Debaters and judges read none of it."""

    kind: Literal["extracted"] = "extracted"
    seat: str = ANALYST
    claims: tuple[Claim, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    dropped: Count = 0  # rows whose words are not in the turn that they name
    unknown: Count = 0  # references to nothing, or to what the author of the turn had not read


def build_embedding_key(model: str, text: str) -> str:
    """What the vector of a text by a model is kept under: SHA-256 of both, in hexadecimal.

    The length of the name stands before it, so that no other pair has the same bytes.
    """
    name = model.encode()
    return sha256(b"%d:%b%b" % (len(name), name, text.encode())).hexdigest()


class Embedded(Fact):
    """A voter's position that was measured, by the key of its vector: the hash of the model and of the whole text."""

    seat: str
    key: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Similarity(Fact):
    """How alike the positions of two voters are: the cosine of their vectors, 0 where it is less."""

    one: str
    other: str
    value: ShareText


class Measured(Answer):
    """How alike the positions are that voters, who all choose the same, hold in private after a round."""

    kind: Literal["measured"] = "measured"
    seat: str = METER
    positions: tuple[Embedded, ...]
    similarities: tuple[Similarity, ...]


class DefaultPlanUsed(Fact):
    """The speakers of a round whose moderator gave no usable answer."""

    kind: Literal["default_plan_used"] = "default_plan_used"
    round: int
    next_speakers: tuple[str, ...]
    reason: str


class HandedOff(Fact):
    """The next speaker: chosen by the speaker, or drawn where that choice is not usable."""

    kind: Literal["handed_off"] = "handed_off"
    seat: str
    round: int
    to: str
    because: Literal["chosen", "drawn"]


class PredicateLost(Fact):
    """The process with the caller's predicate (`terminate_when`) is gone: from this round on it is not asked."""

    kind: Literal["predicate_lost"] = "predicate_lost"
    round: int


class PromptFunctionsLost(Fact):
    """The process with the caller's functions is gone: from this round on seats keep the prompts they had."""

    kind: Literal["prompt_functions_lost"] = "prompt_functions_lost"
    round: int


class Extent(Fact):
    """A piece of a document, in characters."""

    start: Count
    end: Count


class Digested(Answer):
    """What the reader says of a section of a document, `slot_index`. Quotes are places in the document."""

    kind: Literal["digested"] = "digested"
    seat: str = READER
    summary: str
    quotes: tuple[Extent, ...] = ()
    dropped: Count = 0  # quotes that are not in the section
    informative: bool = True  # False: the model is too small to have understood it


class PassageRead(Fact):
    """A passage of a long document that a debater asked for in its turn. Everybody reads it from the next round on."""

    kind: Literal["passage_read"] = "passage_read"
    round: int
    seat: str
    slot_index: Count
    document: int
    query: str
    found: Literal["passage", "known", "nothing", "no_room"]
    start: Count = 0
    end: Count = 0


class Lookup(Fact):
    """One call of a research tool ("server/tool") and its result."""

    tool: str
    arguments: str  # JSON, as the model wrote it
    result: str = ""
    failed: str = ""  # why there is no result
    cut: bool = False  # the result was longer than is kept
    milliseconds: Count = 0


class PromptsComputed(Fact):
    """What the caller's functions wrote for seats, from this round on, where it changed."""

    kind: Literal["prompts_computed"] = "prompts_computed"
    round: int
    prompts: tuple[SeatPrompt, ...]


class Researched(SlotFact):
    """Lookups of a seat before its answer; the slot stays open."""

    kind: Literal["researched"] = "researched"
    lookups: tuple[Lookup, ...]
    usage: Usage | None = None  # None where a server could not be reached and no model was called


class HandoffFailed(SlotFact):
    """A good turn whose choice of the next speaker is not usable."""

    kind: Literal["handoff_failed"] = "handoff_failed"
    detail: str
