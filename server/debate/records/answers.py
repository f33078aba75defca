"""Whether an answer is possible: somebody was asked for it, and `interpret` makes such events."""

import json
from typing import assert_never

from server.debate.answer.count import count_panel
from server.debate.answer.debates import build_panel
from server.debate.answer.report import show_report
from server.debate.answer.texts import list_opposed, show_answer
from server.debate.arguments.points import list_points
from server.debate.facts.advice import AdviceEvent, Advised, Checked, Exchanged, Reported, Reviewed
from server.debate.facts.answers import (
    Answer,
    Digested,
    HandoffFailed,
    Measured,
    Reading,
    Remark,
    Researched,
    Usage,
)
from server.debate.facts.errors import InvalidRequestError, require
from server.debate.facts.events import (
    AnsweredBlind,
    Balloted,
    Compared,
    Event,
    Failed,
    Judged,
    PositionsFramed,
    RoundClosed,
    RoundOpened,
    SlotEvent,
    Spoke,
    Synthesized,
)
from server.debate.facts.setup.seats import CALLER, EMBEDDED, WRITTEN
from server.debate.facts.text import clean, collapse_whitespace
from server.debate.machine.decide import Ask, decide
from server.debate.machine.interpret import find_form
from server.debate.prompts.response_schemas import CRITERIA, MAX_CITED
from server.debate.records.bounds import check_fact
from server.debate.replies.advice import find_words
from server.debate.replies.extract import normalize_name
from server.debate.replies.votes import compute_margin, grade_own, rank
from server.debate.rules.budget import ElapsedTime
from server.debate.rules.calls import Call, pending_calls
from server.debate.schemas.output_schema import find_violation
from server.debate.schemas.plain_json import plain_json
from server.debate.state.debate import Debate
from server.debate.state.labels import label_debaters
from server.debate.state.seats import find_tools

MAX_LOOKUPS = 20  # in one event
MAX_LOOKUP_BATCHES = 3  # for each answer

Calls = dict[tuple[str, int], Call]
"""Calls by slot."""

CALLER_USAGE = Usage(model=CALLER, cost_usd="0")


def find_calls(debate: Debate, seconds: float) -> Calls:
    """The calls that may be made in this state, also those for the caller's turns.

    `seconds`: the age of the debate. The age of its round is unknown: a process that takes over counts from zero.
    """
    if debate.ended or debate.paused:
        return {}
    step = decide(debate, elapsed=ElapsedTime(seconds), asks_client=True)
    calls_of_step = step.calls if isinstance(step, Ask) else ()
    by_caller = (call for call in pending_calls(debate) if call.model in WRITTEN)
    return {call.slot_key: call for call in (*calls_of_step, *by_caller)}


def check_call(debate: Debate, event: SlotEvent, calls: Calls) -> None:
    """Check that somebody was asked for an answer. `debate`: before it; `calls`: of the version that it had seen.

    Raises:
        InvalidRequestError: nobody was asked, or somebody else answered.
    """
    call = calls.get((event.seat, event.slot_index))
    if call is None or call.round != event.round or isinstance(event, HandoffFailed):
        raise InvalidRequestError(f"nobody asked {event.seat} for it at version {event.seen}")
    if event.usage is not None:
        check_author(event.usage, call)
        counts_only_whole = call.task != "measurement" and find_form(call).is_data
        is_whole = not (event.usage.sent_tokens and counts_only_whole)
        require(is_whole or isinstance(event, Failed), "it was read in part, and such answers do not count")
    if isinstance(event, Failed):
        is_its_model = event.model == call.model and event.model not in WRITTEN
        require(is_its_model, f"{call.model} was asked, and not {event.model or 'nobody'}")
    if isinstance(event, Researched):
        check_research(debate, event, call)
    decides = getattr(event, "informative", False) and call.model == EMBEDDED
    require(not decides, "the embedded model decides nothing")


def check_answer(debate: Debate, event: Event, call: Call) -> None:
    """Check an answer to this call before it is recorded: figures, names, and lengths.

    Raises:
        InvalidRequestError: no record may contain it; the text names the field and the rule.
    """
    check_fact(event)
    if usage := getattr(event, "usage", None):
        check_author(usage, call)
        require(
            not usage.reused_from or debate.setup.cache == "reuse",
            "usage.reused_from: nothing is reused here",
        )


def check_contents(debate: Debate, event: SlotEvent) -> None:  # noqa: C901, PLR0912  (a table of cases)
    """Check that some reply becomes such an event. Raises InvalidRequestError if none does."""
    match event:
        case Failed():
            limits = debate.limits
            in_time = event.cause != "late" or limits.round_timeout or limits.max_seconds
            require(in_time, "there is no limit of time that it missed")
        case PositionsFramed():
            check_framing(debate, event)
        case Spoke():
            check_spoken(debate, event)
        case Judged():
            check_judgment(debate, event)
        case RoundOpened():
            limit = 2 * len(debate.names)
            require(len(event.next_speakers) <= limit, f"next_speakers: at most {limit}")
        case RoundClosed():
            require(event.summary, "there is no summary")
        case Synthesized():
            check_deliverable(debate, event)
        case Remark() | AnsweredBlind():
            require(event.text, "there is no text")
        case Reading():
            fields = event.model_dump(exclude_defaults=True).keys() - Answer.model_fields.keys()
            require(event.informative or fields == {"informative"}, "its model is too small to read anything")
        case Digested():
            require(
                collapse_whitespace(clean(event.summary)) == event.summary,
                "its summary is not one clean line",
            )
        case Advised() | Reviewed() | Exchanged() | Reported() | Checked():
            check_advice(debate, event)
        case Balloted() | Measured() | Compared() | HandoffFailed() | Researched():
            pass
        case _:
            assert_never(event)


def check_advice(debate: Debate, event: AdviceEvent) -> None:
    """Check that it says something, and that it quotes only words that its author had read."""
    panel = build_panel(debate)
    texts = [show_answer(answer) for answer in panel.answers.values()]
    quotes: list[str] = []
    match event:
        case Checked():
            texts = [show_report(panel, count_panel(panel))]
            quotes = [fault.words for fault in event.faults]
        case Reviewed():
            require(event.recommendation, "it recommends nothing")
            quotes = [*event.keep, *(error.words for error in event.errors)]
        case Exchanged():
            require(event.recommendation, "it recommends nothing")
            texts = [*list_opposed(panel.before_exchange, event.seat).values()]
            quotes = [event.moved_by]
            require(event.moved or not event.moved_by, "nothing moved it, and words did")
        case Reported():
            require(event.text, "it says nothing")
        case Advised():
            require(event.recommendation, "it recommends nothing")
        case _:
            assert_never(event)
    is_found = event.seen < debate.retracted_at or all(find_words(words, texts) for words in quotes if words)
    require(is_found, "it quotes what nobody had written")


def check_author(usage: Usage, call: Call) -> None:
    """Check who wrote it: the caller's words cost nothing, and no model has the caller's name."""
    if call.model in WRITTEN:
        require(
            usage == CALLER_USAGE.model_copy(update={"model": call.model}),
            "what the caller writes is no model's, and costs nothing",
        )
    else:
        require(usage.model not in ("", *WRITTEN), f"{call.seat} is no seat of the caller's")


def check_research(debate: Debate, event: Researched, call: Call) -> None:
    slot = (event.seat, event.slot_index, event.round)
    batches = sum(
        (research.seat, research.slot_index, research.round) == slot for research in debate.research
    )
    require(find_tools(debate.setup, call.seat, call.task), f"{call.seat} has no tools for this")
    require(batches < MAX_LOOKUP_BATCHES, f"{call.seat} looks up {MAX_LOOKUP_BATCHES} times for an answer")
    require(0 < len(event.lookups) <= MAX_LOOKUPS, f"lookups: from 1 to {MAX_LOOKUPS}")


def check_framing(debate: Debate, event: PositionsFramed) -> None:
    stances = [debater.stance for debater in event.debaters]
    is_plain = all(stance and collapse_whitespace(stance) == stance for stance in stances)
    is_plain = is_plain and collapse_whitespace(event.assumption) == event.assumption
    sides = stances[: len(stances) - len(debate.setup.debaters[2:])]
    is_plain = is_plain and len({normalize_name(stance) for stance in sides}) == len(sides)
    require(is_plain, "these are no positions that exclude each other")
    require(event.labels == label_debaters(debate.setup, event.debaters), "its labels are not those drawn")


def check_spoken(debate: Debate, event: Spoke) -> None:
    phase = debate.phase
    hands_over = phase is not None and phase.order == "handoff"
    require(event.text, "nothing was said")
    choice_count = bool(event.hands_to) + bool(event.no_handoff)
    require(choice_count <= hands_over, "nobody hands over here, or it did both")
    says_position = debate.setup.brief == "panel" and event.act == "argument" and not hands_over
    require(says_position or not event.holds, "nobody is asked here what it holds")


def check_judgment(debate: Debate, event: Judged) -> None:
    names = tuple(belief.name for belief in event.beliefs)
    beliefs = event.beliefs
    are_whole = not beliefs or (
        names == (*debate.names, "") and sum(belief.percent for belief in beliefs) == 100  # noqa: PLR2004
    )
    require(are_whole, "its beliefs are not one for each position and none, together 100")
    if event.winner and beliefs and event.informative:
        percent = next(belief.percent for belief in beliefs if belief.name == event.winner)
        require(percent == rank(beliefs)[0].percent, "its beliefs are highest for another")
    margin = (
        compute_margin(event.winner, beliefs, event.margin)
        if event.winner
        else grade_own(event.recommendation, event.probability)
    )
    require(event.margin == margin, f"its margin does not follow from its beliefs, which make it {margin}")
    points = list_points(debate)
    is_known = all(point in points and debate.is_active(points[point].turn) for point in event.cited)
    require(
        is_known and len({*event.cited}) == len(event.cited) <= MAX_CITED,
        "it cites points that it was not shown",
    )
    criteria = [criterion.name for criterion in event.criteria]
    require(
        criteria == [name for name in CRITERIA if name in criteria], "its criteria are not those asked for"
    )


def check_deliverable(debate: Debate, event: Synthesized) -> None:
    require(event.text, "there is no text")
    if not (schema := debate.setup.output_schema):
        return
    try:
        value = json.loads(event.text)
        is_plain = plain_json(value) == event.text
    except (ValueError, RecursionError):
        is_plain = False
    violation = find_violation(schema, value) if is_plain else "it is no JSON as it is recorded"
    require(not violation, violation)
