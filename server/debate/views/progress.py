"""How far a debate is: the answers there are, of those that are expected, who is asked, and what all will take."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from server.debate.analysis.mirrors import describe_added_work
from server.debate.ballots.waves import is_private_ballot
from server.debate.commands.setup.estimate import estimate, estimate_levels
from server.debate.facts.text import format_count
from server.debate.rules.budget import count_expected_answers
from server.debate.rules.calls import pending_calls
from server.debate.state.debate import Debate

AnswerKey = tuple[int, str, int]
"""(round, seat, slot index). Repeated answers of one slot, as after a retraction, are one answer."""

MOST_SECONDS = 120
"""Times above this are told in minutes."""

MAX_NAMES = 4  # in a report


@dataclass(frozen=True, slots=True)
class Progress:
    answered: frozenset[AnswerKey]
    failed: frozenset[AnswerKey]  # slots that got no answer and are not asked again
    asked: tuple[str, ...]  # the seats whose answers are awaited now
    expected: int  # answers of the whole debate; more where it turns out to need more
    added: str = ""  # what is asked now beyond the debate itself

    @property
    def done(self) -> int:
        return len(self.answered) + len(self.failed)


def build_progress(debate: Debate) -> Progress:
    """The progress of a debate, inherited rounds of a fork included."""
    answered = {(fact.round, fact.seat, fact.slot_index) for fact in debate.answers}
    calls = () if debate.ended else pending_calls(debate)
    pending = {(call.round, call.seat, call.slot_index) for call in calls}
    failed = {(fact.round, fact.seat, fact.slot_index) for fact in debate.failures} - answered - pending
    return Progress(
        answered=frozenset(answered),
        failed=frozenset(failed),
        asked=tuple(dict.fromkeys(call.seat for call in calls)),
        added=describe_added_work(debate).rstrip("."),
        expected=max(count_expected_answers(debate), len(answered) + len(failed) + len(calls)),
    )


def describe_progress(now: Progress, before: Progress | None, holdup: str = "") -> str:
    """Who answered or failed since the report before, or whom the debate waits for: "Ada answered, 3 of 10".

    `holdup`: what the debate waits for before that.
    """
    known = before or now
    answered = now.answered - known.answered
    voted = {key for key in answered if is_private_ballot(key[2])}
    kinds = (
        (voted, "voted in private"),
        (answered - voted, "answered"),
        (now.failed - known.failed, "failed"),
    )
    news = [f"{format_seats(seat for _, seat, _ in sorted(keys))} {verb}" for keys, verb in kinds if keys]
    if not news and (holdup or now.asked):
        news = [holdup or f"Waiting for {format_seats(now.asked)}"]
    news = [now.added, *news] if now.added else news
    return ", ".join((*news, f"{now.done} of {now.expected}"))


def format_seats(seats: Iterable[str]) -> str:
    """Ada; Ada and Ben; Ada, Ben, Cy and 4 more."""
    names = list(dict.fromkeys(seats))
    if len(names) > MAX_NAMES:
        names = [*names[: MAX_NAMES - 1], f"{len(names) - MAX_NAMES + 1} more"]
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def estimate_line(debate: Debate) -> str:
    """What the whole debate is likely to take: calls, time, tokens, cost; until its end with each level of effort."""
    found = estimate(debate)
    written = f"{format_count(found.caller_turns, 'turn')} of the caller" if found.caller_turns else ""
    if not found.calls:
        return f"Estimate: no calls, {written}."
    asked = ", ".join(filter(None, (format_count(found.calls, "call"), written)))
    least, most = (sum(pair) for pair in zip(found.input_tokens, found.output_tokens, strict=True))
    price = format_cost(found.cost_usd)
    if unknown := [price.model for price in debate.prices if not price.input]:
        price = f"the price of {', '.join(unknown)} is unknown"
    twice = {True: ", twice that with its mirror", False: ""}
    own = f"Estimate: {asked}, {format_seconds(found.seconds)}, {least:,} to {most:,} tokens, {price}"
    own += f"{twice[found.may_double]}."
    others = [
        f"{level} {format_count(other.calls, 'call')}, {format_seconds(other.seconds)}, "
        f"{format_cost(other.cost_usd)}{twice[other.may_double]}"
        for level, other in ({} if debate.ended else estimate_levels(debate.setup)).items()
    ]
    return f"{own} Other efforts: {'; '.join(others)}." if others else own


def format_seconds(seconds: tuple[int, int]) -> str:
    low, high = seconds
    return f"{low} to {high} s" if high <= MOST_SECONDS else f"{low / 60:.1f} to {high / 60:.1f} min"


def format_cost(cost_usd: tuple[str, str]) -> str:
    low, high = cost_usd
    if not high:
        return "price unknown"
    return f"${low} to ${high}" if Decimal(high) else "free of charge"
