"""Verifies a record from elsewhere: each entry is checked against the debate before it.

Contributions of people and models must be possible: requested, within bounds, and of a form that `interpret` and the
actions make. Everything else is computed again and must be equal: rounds, orders, ends, pauses, the verdict with its
votes and words. A record that was rewritten consistently, contributions included, passes: only a receipt stored
elsewhere reveals that.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, takewhile
from typing import Any, assert_never

from pydantic import ValidationError

from server.debate.commands.fork import FORKED, is_inherited
from server.debate.facts.answers import HandoffFailed, PassageRead, PromptsComputed, SlotFact
from server.debate.facts.beliefs import Agreed
from server.debate.facts.earlier import EarlierWithdrawn
from server.debate.facts.errors import IllegalEvent, InvalidRequestError, require
from server.debate.facts.escalation import MirrorHeld, MirrorOpened, MirrorSkipped
from server.debate.facts.events import (
    CodeEvent,
    Concluded,
    Ended,
    Event,
    Paused,
    Recorded,
    Resumed,
    RoundEvent,
)
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
from server.debate.machine.kinds import UnknownKindError, load
from server.debate.machine.transitions import apply
from server.debate.records.answers import Calls, check_call, check_contents, find_calls
from server.debate.records.bounds import check_bounds
from server.debate.records.setup import check_opened
from server.debate.rules.budget import NO_ELAPSED_TIME, ElapsedTime
from server.debate.rules.caller_code import CallerCode, TerminateWhen
from server.debate.rules.escalation import Mirror, find_escalation
from server.debate.state.debate import Debate

NEWER_RELEASE_HINT = "The file may be of a later release: update counterpoint-mcp."

SLOWEST_WRITE = 60
"""Seconds that may pass between a decision that depends on the time and the entry that records it."""

Computed = Opened | CodeEvent | RoundEvent | PassageRead | Agreed | Concluded | Ended
"""Events that follow from those before them."""


def parse_event(seq: int, body: Mapping[str, Any]) -> Event:
    """The event of an entry. Raises InvalidRequestError if it cannot be read, or is not in its written form."""
    kind = collapse_whitespace(str(body.get("kind")))[:40]
    try:
        event = load(body)
    except ValidationError as error:
        first_error = error.errors(include_url=False)[0]
        problem = f"cannot be read: {'.'.join(map(str, first_error['loc']))[:60]} {first_error['msg']}"
        raise InvalidRequestError(f"Entry {seq} ({kind}) {problem}. {NEWER_RELEASE_HINT}") from None
    except UnknownKindError:
        problem = "is of a kind that is unknown here"
        raise InvalidRequestError(f"Entry {seq} ({kind}) {problem}. {NEWER_RELEASE_HINT}") from None
    problem_text = f"Entry {seq} ({kind}) cannot be read: its values are not as they are written."
    require(is_written_so(body, event.model_dump(mode="json")), problem_text)
    return event


def is_written_so(value_read: Any, value_written: Any) -> bool:
    """Whether a value is in its written form; a later release may write more fields."""
    if isinstance(value_read, dict) and isinstance(value_written, dict):
        return all(
            name in value_written and is_written_so(value, value_written[name])
            for name, value in value_read.items()
        )
    if isinstance(value_read, list) and isinstance(value_written, list):
        return len(value_read) == len(value_written) and all(map(is_written_so, value_read, value_written))
    return type(value_read) is type(value_written) and bool(value_read == value_written)


def verify_record(history: Sequence[Recorded], ages: Sequence[float]) -> Debate:
    """The debate of the entries. `ages`: seconds from the first entry to each.

    Raises:
        InvalidRequestError: an entry is out of bounds or does not follow; the text names the first one and the rule.
    """
    if not history or not isinstance(first_event := history[0].event, Opened):
        raise InvalidRequestError("Entry 1 does not open a debate, and a debate begins with one that does.")
    check_bounds(history)
    check_opened(first_event)
    return Verification(history, ages, apply(None, first_event)).run()


def is_contribution(event: Event) -> bool:  # noqa: PLR0911  (a table of cases)
    """Whether somebody contributed an event, so that it does not follow from those before it."""
    if isinstance(event, Computed):
        return False
    match event:
        case MirrorSkipped():
            return event.cause == "failed"
        case MirrorOpened() | MirrorHeld() | EarlierWithdrawn():
            return True
        case Paused():
            return event.cause in ("request", "daily_budget")
        case TalkConcluded():
            return event.cause == "request"
        case Challenged() | RoundsExtended():
            return not event.alert  # those of alerts follow from the answers
        case SlotFact():
            return not isinstance(event, HandoffFailed)
        case Resumed() | InterventionFact():
            return True
        case _:
            assert_never(event)


class Verification:
    """The entries of one record, checked up to `debate`."""

    def __init__(self, history: Sequence[Recorded], ages: Sequence[float], debate: Debate) -> None:
        self.history = history
        self.ages = ages
        self.debate = debate
        self.seen = {entry.event.seen for entry in history if isinstance(entry.event, SlotFact)}
        self.calls: dict[int, Calls] = {}  # by version, for versions that answers had seen

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
        """Check and apply the next event, or several that follow together."""
        if self.is_inherited(event) or is_contribution(event):
            debates = [apply(self.debate, event)]  # its error says why the event is out of place
            self.check_contribution(event)
        else:
            debates = [*accumulate(self.match_computed(), apply, initial=self.debate)][1:]
        for self.debate in debates:
            self.note_calls()

    def check_contribution(self, event: Event) -> None:
        """Check a contribution, which no other entry determines."""
        is_inherited = self.is_inherited(event)
        if isinstance(event, Computed):
            return  # the parent computed it
        match event:
            case SlotFact():
                check_contents(self.debate, event)
                usage = None if isinstance(event, HandoffFailed) else event.usage
                self.check_reuse(bool(usage and usage.reused_from))
                if not is_inherited:
                    check_call(self.debate, event, self.calls.get(event.seen, {}))
            case MirrorOpened() | MirrorHeld() | MirrorSkipped():
                self.check_mirror(event)
            case EarlierWithdrawn():
                earlier_debates = self.debate.setup.memory.in_force if self.debate.setup.memory else ()
                is_known = event.debate_id in {earlier.debate_id for earlier in earlier_debates}
                require(is_known, "it recalls no such debate, or left it out before")
                step = decide(self.debate)
                is_over = isinstance(step, Record) and any(
                    isinstance(event_of_step, Ended) for event_of_step in step.events
                )
                require(not is_over, "the debate ends before")  # the end is recorded with the last answer
            case Paused(cause="daily_budget"):
                is_midnight = event.until.endswith("T00:00:00.000Z") and not event.seats
                require(is_midnight, "the budget of a day ends at midnight")
            case Paused() | Resumed() | InterventionFact():
                if not is_inherited:
                    check_possible(self.debate, event)
            case _:
                assert_never(event)

    def check_reuse(self, is_reused: bool) -> None:
        """Check that answers of other debates are reused only if the options say so; mirrors have the same options."""
        require(not is_reused or self.debate.setup.cache == "reuse", "it uses no answers of other debates")

    def check_mirror(self, event: MirrorOpened | MirrorHeld | MirrorSkipped) -> None:
        """Check that a mirror was to be opened or held here. Its judges' findings are in its own record."""
        steps = (find_escalation(self.debate, elapsed) for elapsed in self.list_elapsed_times())
        mirrors = [step for step in steps if isinstance(step, Mirror)]
        if isinstance(event, MirrorOpened):
            is_due = Mirror(event.because) in mirrors
        else:
            is_due = any(step.debate_id for step in mirrors)
            self.check_reuse(event.spent.reused_turns > 0)
        require(is_due, "no mirror is wanted here")

    def is_inherited(self, event: Event) -> bool:
        """Whether a fork may have inherited an event, which then need not follow from the fork's own set-up."""
        at_round = self.debate.setup.forked_at_round
        if self.debate.round > at_round or not at_round:
            return False
        if isinstance(event, Challenged | RoundsExtended):
            return bool(event.alert)
        if isinstance(event, ModelReplaced):
            return event.reason == FORKED
        return is_inherited(event, at_round)

    def match_computed(self) -> tuple[Event, ...]:
        """The next events, as far as they follow without anybody's contribution."""
        position = self.debate.version
        for elapsed in self.list_elapsed_times():
            matches = []
            for code in self.list_caller_code():
                step = decide(self.debate, code, elapsed)
                events = step.events if isinstance(step, Record) else ()
                next_events = (entry.event for entry in self.history[position : position + len(events)])
                pairs = takewhile(lambda pair: pair[0] == pair[1], zip(next_events, events, strict=False))
                matches.append(tuple(event for event, _ in pairs))
            if longest := max(matches, key=len):
                return longest
        raise InvalidRequestError(self.describe_difference(self.history[position].event))

    def list_caller_code(self) -> Iterator[CallerCode]:
        """What the caller's code may have returned here, if there was any: what is recorded next, or nothing."""
        setup = self.debate.setup
        ends: tuple[TerminateWhen | None, ...] = (None, lambda _: True, lambda _: False)
        later_events = (entry.event for entry in self.history[self.debate.version :])
        texts: dict[str, str] = {}
        if setup.prompt_functions:
            computed_prompts = next(
                (event for event in later_events if isinstance(event, PromptsComputed)), None
            )
            texts = (
                {prompt.seat: prompt.text for prompt in computed_prompts.prompts} if computed_prompts else {}
            )

        def write(debate: Debate, seat: str) -> str:
            return texts.get(seat, debate.seat_prompts.get(seat, ""))

        for terminate_when in ends if setup.has_predicate else ends[:1]:
            if setup.prompt_functions:
                yield CallerCode(terminate_when, dict.fromkeys(setup.prompt_functions, write))
            yield CallerCode(terminate_when)

    def list_elapsed_times(self) -> Iterator[ElapsedTime]:
        """The times at which the next entry may have been decided."""
        if not self.debate.limits.max_seconds:
            yield NO_ELAPSED_TIME
            return
        age_before, age = self.ages[self.debate.version - 1], self.ages[self.debate.version]
        earliest = max(age_before, age - SLOWEST_WRITE)
        while age > earliest:
            yield ElapsedTime(age)
            age -= 1
        yield ElapsedTime(earliest)

    def describe_difference(self, event: Event) -> str:
        """What follows in place of this event."""
        step = decide(self.debate)
        if not isinstance(step, Record):
            return "answers come before it" if isinstance(step, Ask) else "nothing follows here unasked"
        own_event = step.events[0]
        if own_event.kind != event.kind:
            return f"{own_event.kind} follows here"
        names = [name for name, value in own_event if value != getattr(event, name)]
        return f"{' and '.join(names) or 'what comes with it'}: computed again, it is something else"
