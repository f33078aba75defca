"""Verifies a record that comes from elsewhere: each entry is checked against the debate before it.

What people and models contribute has to be possible: asked for, within its bounds, and of a shape that `interpret`
and the actions make. Everything else is computed again and has to be the same: rounds, orders, ends, pauses, the
verdict with its votes and words. A record that was rewritten consistently, contributions included, passes: only
a receipt that was kept elsewhere shows that.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, takewhile
from typing import Any

from pydantic import ValidationError

from server.debate.commands.forks.inheritance import FORKED
from server.debate.facts.answers import HandoffFailed, PromptsComputed, SlotFact
from server.debate.facts.beliefs import Agreed, Alerted
from server.debate.facts.earlier import EarlierWithdrawn
from server.debate.facts.errors import IllegalEvent, InvalidRequestError, require
from server.debate.facts.escalation import MirrorHeld, MirrorOpened, MirrorSkipped
from server.debate.facts.events import BlockEnded, Ended, Event, Paused, PhaseEntered, Recorded, Resumed, load
from server.debate.facts.interventions import (
    Challenged,
    InterventionFact,
    ModelReplaced,
    RoundsExtended,
    TalkConcluded,
)
from server.debate.facts.setup.opened import Opened
from server.debate.facts.text import collapse_whitespace
from server.debate.interventions.registry import check_possible
from server.debate.machine.decide import Ask, Record, decide
from server.debate.machine.transitions import apply
from server.debate.records.answers import Calls, check_asked, check_contents, find_calls
from server.debate.records.bounds import check_bounds
from server.debate.records.setup import check_opened
from server.debate.rules.advance import CallerCode, TerminateWhen
from server.debate.rules.budget import NO_ELAPSED_TIME, ElapsedTime
from server.debate.rules.escalation import Mirror, find_escalation
from server.debate.state.debate import Debate

NEWER_RELEASE_HINT = "The file may be of a later release: update counterpoint-mcp."

SLOWEST_WRITE = 60
"""Seconds that may pass from a decision that depends on the time to the entry that records it."""

NEVER_INHERITED = frozenset(
    {"concluded", "ended", "talk_concluded", "predicate_lost", "prompt_functions_lost"}
    | {"positions_framed", "positions_revised", "positions_declined"}
)
"""What no fork takes over from its parent."""


def parse_event(seq: int, body: Mapping[str, Any]) -> Event:
    """The event of an entry. Raises InvalidRequestError if it cannot be read, or was not written so."""
    kind = collapse_whitespace(str(body.get("kind")))[:40]
    try:
        event = load(body)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        problem = f"cannot be read: {'.'.join(map(str, first['loc'][1:]))[:60]} {first['msg']}"
        if first["type"].startswith("union_tag"):
            problem = "is of a kind that is unknown here"
        raise InvalidRequestError(f"Entry {seq} ({kind}) {problem}. {NEWER_RELEASE_HINT}") from None
    altered = f"Entry {seq} ({kind}) cannot be read: its values are not as they are written."
    require(is_written_so(body, event.model_dump(mode="json")), altered)
    return event


def is_written_so(given: Any, written: Any) -> bool:
    """Whether a value is what is written for it; a later release may write more fields."""
    if isinstance(given, dict) and isinstance(written, dict):
        return all(name in written and is_written_so(value, written[name]) for name, value in given.items())
    if isinstance(given, list) and isinstance(written, list):
        return len(given) == len(written) and all(map(is_written_so, given, written))
    return type(given) is type(written) and bool(given == written)


def verify_record(history: Sequence[Recorded], ages: Sequence[float]) -> Debate:
    """The debate that the entries make. `ages`: seconds from the first entry to each.

    Raises:
        InvalidRequestError: an entry is out of bounds, or does not follow; the text names the first one and the rule.
    """
    if not history or not isinstance(opened := history[0].event, Opened):
        raise InvalidRequestError("Entry 1 does not open a debate, and a debate begins with one that does.")
    check_bounds(history)
    check_opened(opened)
    return Verification(history, ages, apply(None, opened)).run()


def is_contribution(event: Event) -> bool:
    """Whether somebody contributed an event, which then does not follow from those before it."""
    match event:
        case HandoffFailed() | TalkConcluded(cause="budget"):
            return False
        case MirrorOpened() | MirrorHeld() | MirrorSkipped(cause="failed") | EarlierWithdrawn():
            return True
        case Paused():
            return event.cause in ("request", "daily_budget")
        case Challenged() | RoundsExtended():
            return not event.alert  # those of alerts follow from the answers
        case _:
            return isinstance(event, SlotFact | Resumed | InterventionFact)


class Verification:
    """The entries of one record, checked as far as `debate` has them."""

    def __init__(self, history: Sequence[Recorded], ages: Sequence[float], debate: Debate) -> None:
        self.history = history
        self.ages = ages
        self.debate = debate
        self.seen = {entry.event.seen for entry in history if isinstance(entry.event, SlotFact)}
        self.calls: dict[int, Calls] = {}  # by version, of those that answers had seen

    def run(self) -> Debate:
        self.note_calls()
        while (position := self.debate.version) < len(self.history):
            entry = self.history[position]
            try:
                self.verify_next(entry.event)
            except (InvalidRequestError, IllegalEvent) as error:
                problem = str(error).rstrip(".")
                message = f"Entry {entry.seq} ({entry.event.kind}) cannot follow those before it: {problem}."
                raise InvalidRequestError(message) from None
        if self.debate.round < self.debate.setup.forked_at_round:
            raise InvalidRequestError(
                "Entry 1 (opened) says that it was forked after rounds that are not there."
            )
        return self.debate

    def note_calls(self) -> None:
        version = self.debate.version
        if version in self.seen:
            self.calls[version] = find_calls(self.debate, self.ages[version - 1])

    def verify_next(self, event: Event) -> None:
        """Check and apply the next event, or as many as follow together."""
        if self.is_inherited(event) or is_contribution(event):
            after = [apply(self.debate, event)]  # names what is wrong with its place
            self.check_contribution(event)
        else:
            after = [*accumulate(self.find_following(), apply, initial=self.debate)][1:]
        for self.debate in after:
            self.note_calls()

    def check_contribution(self, event: Event) -> None:
        """Check what somebody contributed, which no other entry tells."""
        is_inherited = self.is_inherited(event)
        match event:
            case SlotFact():
                check_contents(self.debate, event)
                usage = None if isinstance(event, HandoffFailed) else event.usage
                self.check_reuse(bool(usage and usage.reused_from))
                if not is_inherited:
                    check_asked(self.debate, event, self.calls.get(event.seen, {}))
            case MirrorOpened() | MirrorHeld() | MirrorSkipped():
                self.check_mirror(event)
            case EarlierWithdrawn():
                known = self.debate.setup.memory.in_force if self.debate.setup.memory else ()
                is_known = event.debate_id in {one.debate_id for one in known}
                require(is_known, "it recalls no such debate, or left it out before")
                step = decide(self.debate)
                is_over = isinstance(step, Record) and any(isinstance(each, Ended) for each in step.events)
                require(not is_over, "the debate ends before")  # which is recorded with its last answer
            case Paused(cause="daily_budget"):
                is_midnight = event.until.endswith("T00:00:00.000Z") and not event.seats
                require(is_midnight, "the budget of a day ends at midnight")
            case Paused() | Resumed() | InterventionFact() if not is_inherited:
                check_possible(self.debate, event)
            case _:
                pass

    def check_reuse(self, is_reused: bool) -> None:
        """Check that answers of other debates are used again only where that was asked for; mirrors do as it does."""
        require(not is_reused or self.debate.setup.cache == "reuse", "it uses no answers of other debates")

    def check_mirror(self, event: MirrorOpened | MirrorHeld | MirrorSkipped) -> None:
        """Check that a mirror was to be opened or held here. What its judges found stands in its own record."""
        steps = (find_escalation(self.debate, elapsed) for elapsed in self.find_elapsed_times())
        wanted = [step for step in steps if isinstance(step, Mirror)]
        if isinstance(event, MirrorOpened):
            is_due = Mirror(event.because) in wanted
        else:
            is_due = any(step.debate_id for step in wanted)
            self.check_reuse(event.spent.reused_turns > 0)
        require(is_due, "no mirror is wanted here")

    def is_inherited(self, event: Event) -> bool:
        """Whether an event may be one that a fork took over, which need not follow from its own set-up."""
        at_round = self.debate.setup.forked_at_round
        if self.debate.round > at_round or not at_round or event.kind in NEVER_INHERITED:
            return False
        match event:
            case Agreed(round=number) | Alerted(round=number) | BlockEnded(round=number):
                return number < at_round
            case PhaseEntered(round=number):
                return number <= at_round
            case Challenged() | RoundsExtended():
                return bool(event.alert)
            case ModelReplaced():
                return event.reason == FORKED
            case _:
                return not isinstance(event, InterventionFact)

    def find_following(self) -> tuple[Event, ...]:
        """The next events as far as they are what follows without anybody's contribution."""
        position = self.debate.version
        for elapsed in self.find_elapsed_times():
            matches = []
            for code in self.find_caller_code():
                step = decide(self.debate, code, elapsed)
                following = step.events if isinstance(step, Record) else ()
                given = (entry.event for entry in self.history[position : position + len(following)])
                pairs = takewhile(lambda pair: pair[0] == pair[1], zip(given, following, strict=False))
                matches.append(tuple(event for event, _ in pairs))
            if longest := max(matches, key=len):
                return longest
        raise InvalidRequestError(self.describe_difference(self.history[position].event))

    def find_caller_code(self) -> Iterator[CallerCode]:
        """What the caller's code may have returned here, where there was any: what is recorded next, or nothing."""
        setup = self.debate.setup
        ends: tuple[TerminateWhen | None, ...] = (None, lambda _: True, lambda _: False)
        following = (entry.event for entry in self.history[self.debate.version :])
        written: dict[str, str] = {}
        if setup.prompt_functions:
            computed = next((event for event in following if isinstance(event, PromptsComputed)), None)
            written = {prompt.seat: prompt.text for prompt in computed.prompts} if computed else {}

        def write(debate: Debate, seat: str) -> str:
            return written.get(seat, debate.seat_prompts.get(seat, ""))

        for terminate_when in ends if setup.has_predicate else ends[:1]:
            if setup.prompt_functions:
                yield CallerCode(terminate_when, dict.fromkeys(setup.prompt_functions, write))
            yield CallerCode(terminate_when)

    def find_elapsed_times(self) -> Iterator[ElapsedTime]:
        """The times at which it may have been decided what the next entry records."""
        if not self.debate.limits.max_seconds:
            yield NO_ELAPSED_TIME
            return
        before, age = self.ages[self.debate.version - 1], self.ages[self.debate.version]
        earliest = max(before, age - SLOWEST_WRITE)
        while age > earliest:
            yield ElapsedTime(age)
            age -= 1
        yield ElapsedTime(earliest)

    def describe_difference(self, event: Event) -> str:
        """What follows in place of this event."""
        step = decide(self.debate)
        if not isinstance(step, Record):
            return "answers come before it" if isinstance(step, Ask) else "nothing follows here unasked"
        expected = step.events[0]
        if expected.kind != event.kind:
            return f"{expected.kind} follows here"
        names = [name for name, value in expected if value != getattr(event, name)]
        return f"{' and '.join(names) or 'what comes with it'}: computed again, it is something else"
