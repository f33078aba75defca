"""How far a debate is: which answers there are, how many are expected, who is asked, and the likely cost."""

from dataclasses import dataclass
from decimal import Decimal
from itertools import zip_longest

from server.debate.analysis.mirrors import describe_added_work
from server.debate.answer.debates import WHERE_THEY_DIFFER
from server.debate.ballots.waves import is_private_ballot
from server.debate.commands.setup.estimate import Estimate, estimate, estimate_levels
from server.debate.facts.setup.phases import Phase
from server.debate.facts.text import format_count, format_dollars, format_duration, join_names
from server.debate.rules.calls import build_call, is_cut_short, pending_calls
from server.debate.rules.plan import count_expected_answers
from server.debate.rules.schedule import open_slots
from server.debate.state.debate import Debate

AnswerKey = tuple[int, str, int]
"""(round, seat, slot index). Repeated answers of one slot, as after a retraction, are one answer."""

PHASE_WORDS: dict[str, tuple[str, str]] = {
    "advice": ("Answering", "answers"),
    "review": ("Reviewing", "reviews"),
    "exchange": ("Arguing where they differ", "an exchange"),
    "report": ("Writing the report", "the report"),
    "check": ("Checking the answer", "its check"),
}
"""What is done in the phases of the answer format, and what they bring, in everyday words."""


@dataclass(frozen=True, slots=True)
class Progress:
    answered: frozenset[AnswerKey]
    failed: frozenset[AnswerKey]  # slots that got no answer and are not asked again
    asked: tuple[str, ...]  # the seats whose answers are awaited now
    expected: int  # answers of the whole debate; more where it turns out to need more
    added: str = ""  # what is asked now beyond the debate itself
    phase: str = ""  # what they do now: Reviewing
    ahead: tuple[str, ...] = ()  # what is sure to come after it
    models: tuple[str, ...] = ()  # those of `asked`

    @property
    def done(self) -> int:
        return len(self.answered) + len(self.failed)


def build_progress(debate: Debate) -> Progress:
    """The progress of a debate; inherited rounds of a fork are included."""
    answered_keys = {(fact.round, fact.seat, fact.slot_index) for fact in debate.answers}
    calls = () if debate.ended else pending_calls(debate)
    is_concluding = not debate.ended and is_cut_short(debate)
    in_flight = tuple(build_call(debate, slot) for slot in open_slots(debate)) if is_concluding else ()
    pending = {(call.round, call.seat, call.slot_index) for call in calls}
    failed_keys = (
        {(fact.round, fact.seat, fact.slot_index) for fact in debate.failures} - answered_keys - pending
    )
    return Progress(
        answered=frozenset(answered_keys),
        failed=frozenset(failed_keys),
        asked=tuple(dict.fromkeys(call.seat for call in in_flight or calls)),
        models=tuple({call.seat: call.model for call in in_flight or calls}.values()),
        phase="Concluding" if in_flight else name_work(debate),
        ahead=() if in_flight else list_phases_ahead(debate),
        added=describe_added_work(debate).rstrip("."),
        expected=max(count_expected_answers(debate), len(answered_keys) + len(failed_keys) + len(calls)),
    )


def name_work(debate: Debate) -> str:
    """What is done now, in everyday words."""
    if debate.ended:
        return ""
    if debate.phase:
        return name_phase(debate.phase)[0]
    return "Naming the positions" if debate.setup.needs_framing else ""


def name_phase(phase: Phase) -> tuple[str, str]:
    """(what is done in a phase, what it brings): in the words of the answer format, else its name."""
    name = phase.name.replace("_", " ")
    return PHASE_WORDS.get(phase.wants, (name, name))


def list_phases_ahead(debate: Debate) -> tuple[str, ...]:
    """The phases that are sure to come after this one: no exchange, and no report that only an exchange calls for."""
    phases, here = debate.setup.phases, debate.phase
    if debate.ended or here is None:
        return ()
    unsure = ("exchange",) if here.wants == "exchange" else WHERE_THEY_DIFFER
    names = [phase.name for phase in phases]
    after = phases[names.index(here.name) + 1 :] if here.name in names else ()
    return tuple(name_phase(phase)[1] for phase in after if phase.wants not in unsure)


def describe_progress(now: Progress, before: Progress | None, holdup: str = "") -> str:
    """What goes on, who answered or failed since the last report, and how many of how many answers there are.

    "Reviewing: waiting for Ben (m), then the report. Ada answered. 3 of 5". `holdup`: as in `describe_work`.
    """
    earlier = before or now
    new_answers = now.answered - earlier.answered
    new_ballots = {key for key in new_answers if is_private_ballot(key[2])}
    kinds = (
        (new_ballots, "voted in private"),
        (new_answers - new_ballots, "answered"),
        (now.failed - earlier.failed, "failed"),
    )
    news = [f"{join_names(seat for _, seat, _ in sorted(keys))} {verb}" for keys, verb in kinds if keys]
    work = describe_work(now, "" if news else holdup)
    sentences = filter(None, (work, ", ".join(news), f"{now.done} of {now.expected}"))
    return ". ".join(sentence[:1].upper() + sentence[1:] for sentence in sentences)


def describe_work(now: Progress, holdup: str = "") -> str:
    """What goes on, whom it waits for, and what comes then; "" if nothing does. `holdup`: what it waits for first."""
    pairs = zip_longest(now.asked, now.models, fillvalue="")
    asked = [f"{seat} ({model})" if model else seat for seat, model in pairs]
    waiting = f"waiting for {join_names(asked)}" if asked else ""
    then = f"then {join_names(now.ahead)}" if now.ahead else ""
    goes_on = [*filter(None, (now.added, holdup[:1].lower() + holdup[1:] or waiting))]
    if not goes_on:
        return ""
    return ": ".join(filter(None, (now.phase, ", ".join(filter(None, (*goes_on, then))))))


def estimate_line(debate: Debate, *, with_efforts: bool = True) -> str:
    """The likely cost of the whole debate: calls, time, tokens, money; until its end with each level of effort."""
    forecast = estimate(debate)
    turns = format_count(forecast.caller_turns, "turn")
    caller_turns = f"{turns} of the caller" if forecast.caller_turns else ""
    if not max(forecast.calls, forecast.most_calls):
        return f"Estimate: {', '.join(filter(None, ('no calls', caller_turns)))}."
    work = ", ".join(filter(None, (format_calls(forecast), caller_turns)))
    fewest_tokens, most_tokens = (
        sum(pair) for pair in zip(forecast.input_tokens, forecast.output_tokens, strict=True)
    )
    price = format_cost(forecast.cost_usd)
    if unpriced := [price.model for price in debate.prices if not price.input]:
        price = f"the price of {', '.join(unpriced)} is unknown"
    twice = {True: ", twice that with its mirror", False: ""}
    tokens = f"{fewest_tokens:,} to {most_tokens:,} tokens"
    line = f"Estimate: {work}, {format_durations(forecast.seconds)}, {tokens}, {price}{twice[forecast.may_double]}."
    levels = estimate_levels(debate.setup) if with_efforts and not debate.ended else {}
    efforts = [
        f"{level} {format_calls(other)}, {format_durations(other.seconds)}, "
        f"{format_cost(other.cost_usd)}{twice[other.may_double]}"
        for level, other in levels.items()
        if (other.may_double, format_calls(other)) != (forecast.may_double, format_calls(forecast))
    ]
    return f"{line} Other efforts: {'; '.join(efforts)}." if efforts else line


def format_calls(forecast: Estimate) -> str:
    """How many calls, or a range."""
    if forecast.most_calls > forecast.calls:
        return f"{forecast.calls} to {forecast.most_calls} calls"
    return format_count(forecast.calls, "call")


def format_durations(seconds: tuple[int, int]) -> str:
    low, high = map(format_duration, seconds)
    return f"{low.removesuffix(' s') if high.endswith(' s') else low} to {high}"


def format_cost(cost_usd: tuple[str, str]) -> str:
    low, high = cost_usd
    if not high:
        return "price unknown"
    if not Decimal(high):
        return "free of charge"
    return f"{format_dollars(Decimal(low))} to {format_dollars(Decimal(high))}"
