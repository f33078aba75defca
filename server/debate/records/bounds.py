"""The bounds of an entry: actors, texts, figures. They are the bounds of requests and answers.

A text without a row in `TEXT_LENGTHS` is a name, and must be one clean line.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache

from server.debate.commands.requests import MAX_DOCUMENT_LENGTH
from server.debate.commands.setup.open import MAX_QUESTION_LENGTH
from server.debate.facts import advice, answers, escalation, events, interventions
from server.debate.facts.errors import InvalidRequestError, require
from server.debate.facts.fact import Fact
from server.debate.facts.setup import seats
from server.debate.facts.setup.documents import Document
from server.debate.facts.setup.limits import Price
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.phases import Phase
from server.debate.facts.text import clean
from server.debate.interventions.notes import MAX_NOTES, MAX_NOTES_LENGTH
from server.debate.interventions.positions import MAX_STANCE_LENGTH
from server.debate.interventions.registry import REGISTRY
from server.debate.replies.advice import MAX_FIELD_LENGTH as MAX_ADVICE_LENGTH
from server.debate.replies.ballots import MAX_SENTENCE_LENGTH
from server.debate.replies.extract import MAX_DETAIL_LENGTH, MAX_FIELD_LENGTH, MAX_TURN_LENGTH
from server.debate.replies.handoffs import MAX_MESSAGE_LENGTH
from server.debate.schemas.output_schema import MAX_SCHEMA_SIZE, MAX_VALUE_SIZE
from server.debate.seats.framer import MAX_ASSUMPTION_LENGTH
from server.debate.seats.registry import SEATS
from server.debate.seats.seat import MAX_WHY_LENGTH

MAX_ENTRIES = 20_000
MAX_ATTEMPTS = 10_000  # requests for one answer, which may be the vectors of thousands of questions
MAX_TOKENS = 10**12  # of one answer
MAX_MILLISECONDS = 10**9
MAX_COST_USD = 1_000_000  # of one answer
MAX_TOKEN_PRICE_USD = 1_000
MAX_LINE_LENGTH = 200
ACTOR_RULE = "actor: it has to be one clean line"
MAX_REASON_LENGTH = 2_500  # of the server's own texts, which may list names and failures

PROMPT_LENGTHS = {"prompt": seats.MAX_PROMPT_LENGTH}
REQUEST_LENGTHS = {"reason": MAX_REASON_LENGTH, "request_id": 100}
ADVICE_LENGTHS = dict.fromkeys(("recommendation", "because", "value"), MAX_ADVICE_LENGTH)
OPINION_LENGTHS = ADVICE_LENGTHS | dict.fromkeys(
    ("premise", "assumed", "changes_if", "next"), MAX_ADVICE_LENGTH
)

TEXT_LENGTHS: dict[type[Fact], Mapping[str, int]] = {
    **{fact: lengths for seat in SEATS for fact, lengths in seat.texts.items()},
    seats.Debater: {
        **dict.fromkeys(("stance", "role"), MAX_STANCE_LENGTH),
        "system_prompt": seats.MAX_PROMPT_LENGTH,
    },
    Document: {"title": 300, "text": MAX_DOCUMENT_LENGTH, "url": 2000},
    **dict.fromkeys((seats.JudgePanel, seats.Moderator, seats.Officer), PROMPT_LENGTHS),
    seats.SeatPrompt: {"text": seats.MAX_PROMPT_LENGTH},
    Phase: {"instruction": seats.MAX_PROMPT_LENGTH},
    seats.Framing: {"assumption": MAX_ASSUMPTION_LENGTH, "problem": MAX_REASON_LENGTH},
    interventions.InterventionFact: REQUEST_LENGTHS,
    **{fact: lengths for action in REGISTRY for fact, lengths in action.texts.items()},
    Opened: {
        "question": MAX_QUESTION_LENGTH,
        "instructions": seats.MAX_PROMPT_LENGTH,
        "output_schema": MAX_SCHEMA_SIZE,
        "tags": 60,
    },
    events.PhaseEntered: {"detail": MAX_REASON_LENGTH},
    answers.DefaultPlanUsed: {"reason": MAX_REASON_LENGTH},
    events.Concluded: dict.fromkeys(("verdict", "reasoning"), 10 * MAX_FIELD_LENGTH),
    events.Paused: REQUEST_LENGTHS,
    events.Resumed: REQUEST_LENGTHS,
    events.Ended: {"detail": MAX_REASON_LENGTH},
    escalation.MirrorSkipped: {"reason": MAX_REASON_LENGTH},
    answers.Digested: {"summary": 4_000},
    events.AnsweredBlind: {"text": MAX_TURN_LENGTH},
    events.PositionsFramed: {"assumption": MAX_ASSUMPTION_LENGTH},
    events.RoundOpened: {"briefing": MAX_FIELD_LENGTH, "new_angle": MAX_FIELD_LENGTH},
    events.Spoke: {"text": MAX_TURN_LENGTH, "no_handoff": MAX_REASON_LENGTH},
    answers.Span: {"quote": MAX_TURN_LENGTH},
    answers.Contest: {"why": MAX_WHY_LENGTH},
    answers.DirectMessage: {"text": MAX_MESSAGE_LENGTH},
    events.RoundClosed: {"summary": MAX_FIELD_LENGTH, "decision": MAX_FIELD_LENGTH},
    events.Balloted: dict.fromkeys(
        ("position", "would_check", "new_point", "open_point"), MAX_SENTENCE_LENGTH
    ),
    advice.Advised: OPINION_LENGTHS,
    advice.Reviewed: ADVICE_LENGTHS
    | dict.fromkeys(("missing", "keep", "differ_in", "against", "text"), MAX_ADVICE_LENGTH),
    advice.Correction: dict.fromkeys(("words", "right"), MAX_ADVICE_LENGTH),
    advice.Branch: dict.fromkeys(("condition", "advice"), MAX_ADVICE_LENGTH),
    advice.Exchanged: dict.fromkeys(
        ("reply", "decides", "recommendation", "moved_by", "value", "next", "against"), MAX_ADVICE_LENGTH
    ),
    advice.Reported: {"text": MAX_ADVICE_LENGTH},
    advice.Fault: dict.fromkeys(("words", "right"), MAX_ADVICE_LENGTH),
    seats.Answering: {"mine": seats.MAX_PROMPT_LENGTH},
    events.Judged: dict.fromkeys(("verdict", "reasoning", *events.JUDGE_ADVICE), MAX_FIELD_LENGTH),
    events.Synthesized: {"text": MAX_VALUE_SIZE},
    answers.Lookup: {"tool": MAX_LINE_LENGTH, "arguments": 4_000, "result": 8_000, "failed": 4_000},
    events.Failed: {"detail": MAX_DETAIL_LENGTH},
    answers.HandoffFailed: {"detail": MAX_REASON_LENGTH},
}
"""The most characters of each text that may have several lines or signs of any kind; see above for all others."""


def check_bounds(history: Sequence[events.Recorded]) -> None:
    """Check the size and form of everything in the entries.

    Raises:
        InvalidRequestError: something is out of bounds; the text names the first entry, the field and the rule.
    """
    require(len(history) <= MAX_ENTRIES, f"There are more than {MAX_ENTRIES:,} entries.")
    notes: list[str] = []
    for entry in history:
        try:
            require(is_line(entry.actor), ACTOR_RULE)
            check_fact(entry.event)
            if isinstance(entry.event, interventions.TextIntervention):
                notes.append(entry.event.text)
                require(len(notes) <= MAX_NOTES, f"there are more than {MAX_NOTES} notes")
        except InvalidRequestError as error:
            raise InvalidRequestError(f"Entry {entry.seq} ({entry.event.kind}): {error}.") from None
    total = sum(map(len, notes))
    require(
        total <= MAX_NOTES_LENGTH, f"The notes have {total:,} characters; {MAX_NOTES_LENGTH:,} are allowed."
    )


def check_contribution(facts: Iterable[Fact], actor: str) -> None:
    """Check the beginning of a debate, or an addition to it, before it is recorded.

    Raises:
        InvalidRequestError: no record may contain it; the text names the field and the rule.
    """
    try:
        require(is_line(actor), ACTOR_RULE)
        for fact in facts:
            check_fact(fact)
    except InvalidRequestError as error:
        raise InvalidRequestError(f"{error}.") from None


def check_fact(fact: Fact) -> None:
    """Check a fact and its parts.

    Raises:
        InvalidRequestError: something is out of bounds; the text names the field and the rule.
    """
    if isinstance(
        fact,
        events.Judged
        | events.Balloted
        | events.Compared
        | events.RoundClosed
        | advice.Reviewed
        | advice.Exchanged
        | advice.Checked,
    ):
        require(not fact.usage.reused_from, "usage.reused_from: what decides is not reused")
    lengths = list_text_lengths(type(fact))
    for name, value in vars(fact).items():
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Fact):
                check_fact(part)
            elif part and isinstance(part, str):
                check_text(name, part, lengths.get(name))
    if isinstance(fact, answers.Usage):
        check_usage(fact)
    if isinstance(fact, events.Failed):
        fewest, highest = (1, 1) if fact.usage else (0, MAX_ATTEMPTS)  # usage counts its own
        require(fewest <= fact.attempts <= highest, f"attempts: from {fewest} to {highest:,}")
    if isinstance(fact, escalation.Spent):
        require(fact.reused_turns <= MAX_ENTRIES, "spent.reused_turns: no debate has so many")
    if isinstance(fact, Price):
        check_price(fact)


@cache
def list_text_lengths(kind: type[Fact]) -> Mapping[str, int]:
    bases = (base for base in reversed(kind.__mro__) if base in TEXT_LENGTHS)
    return {name: length for base in bases for name, length in TEXT_LENGTHS[base].items()}


def check_text(name: str, text: str, limit: int | None) -> None:
    if limit is None:
        require(is_line(text), f"{name}: one clean line of at most {MAX_LINE_LENGTH} characters")
        return
    require(len(text) <= limit, f"{name}: {len(text):,} characters, and {limit:,} are allowed")
    require(clean(f"|{text}|") == f"|{text}|", f"{name}: it holds control characters")


def is_line(text: str) -> bool:
    """Whether a text is one printable line.

    Python calls private characters, and those newer than its tables, unprintable; here they are allowed.
    """
    is_seen = text.isprintable() or (clean(f"|{text}|") == f"|{text}|" and not {"\n", "\t"} & {*text})
    return len(text) <= MAX_LINE_LENGTH and is_seen and bool(text.strip())


def check_usage(usage: answers.Usage) -> None:
    for name in ("input_tokens", "cached_tokens", "output_tokens", "sent_tokens", "reused_tokens"):
        require(getattr(usage, name) <= MAX_TOKENS, f"usage.{name}: no answer has so many tokens")
    is_part = usage.thinking_tokens <= usage.output_tokens
    require(is_part, "usage.thinking_tokens: there were more than were written")
    require(usage.milliseconds <= MAX_MILLISECONDS, "usage.milliseconds: no answer takes so long")
    is_kept = usage.cost_usd == "0" and not usage.input_tokens + usage.output_tokens  # of an earlier request
    fewest = 0 if is_kept else 1
    require(fewest <= usage.attempts <= MAX_ATTEMPTS, f"usage.attempts: from {fewest} to {MAX_ATTEMPTS:,}")
    require(bool(usage.reused_from) or not usage.reused_tokens, "usage.reused_tokens: it was not reused")
    is_free = is_kept and not usage.cached_tokens + usage.attempts
    require(is_free or not usage.reused_from, "usage.reused_from: nobody was asked, and it cost something")
    is_part = not usage.sent_tokens or usage.sent_tokens > usage.input_tokens
    require(is_part, "usage.sent_tokens: there were more than were read")
    cost = Decimal(usage.cost_usd or 0)
    require(cost <= MAX_COST_USD, f"usage.cost_usd: at most {MAX_COST_USD:,} US dollars for an answer")


def check_price(price: Price) -> None:
    require(bool(price.input) == bool(price.output), "price: it is known, or it is not")
    costs = (Decimal(cost or 0) for cost in (price.input, price.output))
    require(max(costs) <= MAX_TOKEN_PRICE_USD, f"price: at most {MAX_TOKEN_PRICE_USD} US dollars for a token")
