"""The state of a debate: participants, progress, outcome and usage."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import takewhile
from typing import Annotated, Any

from pydantic import BaseModel, Field

from server.debate.analysis.mirrors import describe_added_work
from server.debate.answer.count import OUTCOME_WORDS
from server.debate.ballots.waves import is_private_ballot
from server.debate.commands.setup.debaters import describe_framing_problem
from server.debate.facts.answers import Usage
from server.debate.facts.causes import PAUSED_ON_REQUEST
from server.debate.facts.events import Paused, Recorded
from server.debate.facts.interventions import TalkConcluded
from server.debate.facts.quoting import quote_heading
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import WRITTEN, Debater
from server.debate.facts.text import format_count, format_dollars, format_duration
from server.debate.interventions.positions import PositionsDeclined
from server.debate.machine.decide import Status, format_wait_reason, status
from server.debate.rules.calls import pending_calls
from server.debate.rules.schedule import is_unanswered
from server.debate.state.debate import Debate
from server.debate.views.advice import describe_advice
from server.debate.views.awaited import awaited_seats
from server.debate.views.names import name_debate, show_turn
from server.debate.views.provenance import RECORDED_HERE, Provenance
from server.debate.views.visibility import is_visible, list_blind_seats, shows_seat
from server.debate.views.warnings import failure_lines, list_recalled
from server.debate.votes.teams import show_team


@dataclass(frozen=True, slots=True)
class StoredDebate:
    """A debate under its id, with its entries."""

    id: str
    debate: Debate
    entries: tuple[Recorded, ...]
    provenance: Provenance = RECORDED_HERE

    @property
    def status(self) -> Status:
        return status(self.debate)

    @property
    def is_unattended(self) -> bool:
        """Whether the debate runs to its end without being stepped, because somebody here asked for that."""
        return self.debate.is_unattended and has_own_request(self.entries)


def has_own_request(entries: Sequence[Recorded]) -> bool:
    """Whether somebody here asked to run the debate to its end: not only elsewhere, before it was imported."""
    if not entries[0].restored:
        return True  # all of them were recorded here
    entries_here = takewhile(lambda entry: not entry.restored, reversed(entries))
    return any(isinstance(entry.event, TalkConcluded) for entry in entries_here)


class UsageSum(BaseModel):
    """The usage of several answers, summed. `cost_usd` is a decimal, "" if no price is known.

    Turns that the caller wrote are not calls.
    """

    calls: int
    caller_turns: int
    reused: int = 0  # answers of other debates
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    thinking_tokens: int  # part of output_tokens
    cost_usd: str
    calls_of_unknown_cost: int


STATUS_WORDS: dict[Status, str] = {
    "ready": "not running",
    "running": "running",
    "waiting": "waiting",
    "paused": "paused",
    "concluded": "concluded",
    "truncated": "cut short",
}

STANDINGS = dict[str, str]([*STATUS_WORDS.items(), *OUTCOME_WORDS.items(), ("synthesis", "A combination")])
"""Statuses and outcomes as people read them in lists: a combination may be that of one judge."""


def tell_standing(value: str) -> str:
    """A status or an outcome in the words that people read; a damaged one as it is."""
    return STANDINGS.get(value, value)


TOKENS = ("input_tokens", "cached_tokens", "output_tokens", "thinking_tokens")


def sum_usage(usages: Sequence[Usage]) -> UsageSum:
    new_usages = [usage for usage in usages if not usage.reused_from]
    costs = [Decimal(usage.cost_usd) for usage in new_usages if usage.cost_usd]
    caller_turns, reused_count = (
        sum(usage.model in WRITTEN for usage in usages),
        len(usages) - len(new_usages),
    )
    is_known = bool(costs or (reused_count and not new_usages))
    return UsageSum(
        calls=len(new_usages) - caller_turns,
        caller_turns=caller_turns,
        reused=reused_count,
        **{name: sum(getattr(usage, name) for usage in usages) for name in TOKENS},
        cost_usd=f"{sum(costs, Decimal()):f}" if is_known else "",
        calls_of_unknown_cost=len(new_usages) - len(costs),
    )


def format_output(usage: Usage | UsageSum) -> str:
    """The tokens written, and how many of them were thinking, if any."""
    thinking = f" ({usage.thinking_tokens:,} thinking)" if usage.thinking_tokens else ""
    return f"{usage.output_tokens:,} out{thinking}"


def cost_line(usage: UsageSum, seconds: float = 0) -> str:
    """Calls, tokens, time and cost in a sentence, without what is zero. Unknown prices are called unknown."""
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    is_counted = usage.input_tokens + usage.output_tokens > 0  # not for a client's model, for example
    tokens = f"{usage.input_tokens:,} tokens in{cached}, {format_output(usage)}" if is_counted else ""
    caller_turns = f"{format_count(usage.caller_turns, 'turn')} of the caller" if usage.caller_turns else ""
    other_answers = [part for part in (caller_turns, f"{usage.reused} reused" * bool(usage.reused)) if part]
    if not usage.calls:
        return ", ".join(("No calls", *other_answers)) + "." if other_answers else "No answers yet."
    cost = Decimal(usage.cost_usd or 0)
    price = (format_dollars(cost) if cost else "") if usage.cost_usd else "price unknown"
    if usage.cost_usd and usage.calls_of_unknown_cost:
        unpriced = f"{format_count(usage.calls_of_unknown_cost, 'call')} of unknown price"
        price = " and ".join(filter(None, (price, unpriced)))
    time = format_duration(seconds) if seconds else ""
    parts = (format_count(usage.calls, "call"), *other_answers, tokens, time, price)
    return f"{', '.join(filter(None, parts))}."


def measure_seconds(debate: Debate) -> float:
    """How long its calls took; of those that were made at once, which saw the same version, the longest."""
    times: dict[int, Counter[tuple[str, int]]] = {}
    for fact in (*debate.answers, *debate.research, *debate.failures):
        if fact.usage and debate.is_own(fact) and not fact.usage.reused_from:
            wave = times.setdefault(fact.seen, Counter())
            wave[fact.seat, fact.slot_index] += fact.usage.milliseconds
    return sum(max(wave.values()) for wave in times.values()) / 1000


def build_usage(debate: Debate) -> dict[str, Any]:
    """{"total": the sum, "models": the sum for each that was called, "mirror": what the mirror debate used}."""
    models: dict[str, list[Usage]] = {}
    for usage in debate.usage:
        if usage.model not in WRITTEN:
            models.setdefault(usage.model, []).append(usage)
    sums = {model: sum_usage(usages).model_dump() for model, usages in models.items()}
    mirror_usage = debate.mirror.spent.model_dump() if debate.mirror else {}
    return {"total": sum_usage(debate.usage).model_dump(), "models": sums, "mirror": mirror_usage}


def describe_costs(debate: Debate) -> tuple[str, str]:
    """(calls, tokens and cost of the debate and of its mirror, in sentences; US dollars of both, "" if unknown)."""
    usage, mirror = sum_usage(debate.usage), debate.mirror
    if mirror is None or not mirror.spent.calls:
        return cost_line(usage, measure_seconds(debate)), usage.cost_usd
    mirror_usage = mirror.spent
    tokens = f"{mirror_usage.input_tokens:,} tokens in, {mirror_usage.output_tokens:,} out"
    price = format_dollars(Decimal(mirror_usage.cost_usd)) if mirror_usage.cost_usd else "price unknown"
    total = (
        f"{Decimal(usage.cost_usd) + Decimal(mirror_usage.cost_usd):f}"
        if usage.cost_usd and mirror_usage.cost_usd
        else ""
    )
    line = cost_line(usage, measure_seconds(debate))
    return f"{line} Its mirror: {format_count(mirror_usage.calls, 'call')}, {tokens}, {price}.", total


def build_state(stored: StoredDebate) -> dict[str, Any]:
    """Participants, progress, cost and outcome; "" for what is missing. Times are UTC, in ISO 8601."""
    debate = stored.debate
    setup, named = debate.setup, name_debate(debate)
    verdict, summaries = named.verdict, named.round_summaries
    is_settled = bool(summaries) and summaries[-1].settled
    return {
        "debate_id": stored.id,
        "question": setup.question,
        "format": setup.format,
        "status": stored.status,
        "reason": status_reason(debate),
        "phase": debate.phase.name if debate.phase else "",
        "round": debate.round,
        "rounds_of_talk": debate.held_round_count,
        "max_rounds": debate.max_rounds,
        "framing": framing_line(setup),
        "debaters": [
            {
                "name": debater.name,
                "stance": debater.stance,
                "role": debater.role,
                "model": debater.model,
                "turns": sum(turn.seat == debater.name for turn in (*debate.turns, *debate.advice)),
                "failures": count_failures(debate, debater.name),
            }
            for debater in (() if setup.needs_framing else setup.debaters)
        ],
        **show_team(setup),
        "awaiting": awaited_seats(debate),
        "outcome": verdict.outcome if verdict else "",
        "winner": verdict.winner if verdict else "",
        "winner_stance": debate.debater(verdict.winner).stance if verdict and verdict.winner else "",
        "verdict": verdict.verdict if verdict else "",
        "moderator_summary": moderator_summary(debate),
        "final_decision": summaries[-1].decision if is_settled else "",
        "settled": is_settled,
        "turns": len(debate.turns),
        "failures": failure_lines(debate),
        "notes": len(debate.notes),
        "usage": sum_usage(debate.usage).model_dump(),
        "tags": list(debate.tags),
        "recalled": list_recalled(setup),
        **setup.model_dump(include={"mirror_of", "forked_from", "forked_at_round"}),
        "opened_at": stored.entries[0].at,
        "changed_at": stored.entries[-1].at,
        "entries": debate.version,
    }


def count_failures(debate: Debate, seat: str) -> int:
    return sum(failure.seat == seat for failure in debate.all_failures)


def moderator_summary(debate: Debate) -> str:
    """The moderator's latest summary; "" if there is none, or if it is hidden."""
    summaries = name_debate(debate).round_summaries
    return summaries[-1].summary if summaries and is_visible(debate, "moderator") else ""


DECLINED = (
    "the person at the client declined these positions, and the debate is not run. Ask what is meant, and start "
    "another with debaters=[{name, stance}, …]; step_round debates these all the same"
)


def status_reason(debate: Debate) -> str:
    """Why the debate ended, paused or waits, or its extra work; "" while it just runs."""
    if debate.ended:
        return debate.ended.reason
    if pause := name_debate(debate).paused:
        return f"on request: {quote_heading(pause.reason)}" if is_reason_given(pause) else pause.reason
    if status(debate) != "waiting":
        is_declined = debate.find_interventions(PositionsDeclined) and not debate.rounds
        return DECLINED if is_declined else describe_added_work(debate)
    calls = pending_calls(debate)
    sentences = [format_wait_reason(calls)]
    if hidden_seats := list_blind_seats(debate):
        sentences.append(
            f"What was written by {', '.join(hidden_seats)} is shown when the round is complete."
        )
    if any(is_private_ballot(call.slot_index) for call in calls):
        sentences.append("Private ballots are shown when the debate has ended.")
    return " ".join(sentences)


def is_reason_given(pause: Paused) -> bool:
    """Whether the reason of a pause is in somebody's own words."""
    return pause.cause == "request" and pause.reason != PAUSED_ON_REQUEST


def origin_line(mirror_of: str, forked_from: str, at_round: int) -> str:
    """Which debate this is the mirror or a fork of, in a sentence; "" for other debates."""
    if mirror_of:
        return f"The mirror of {mirror_of}: the same debate with the stances swapped. Its votes count there."
    if not forked_from:
        return ""
    where = f"after round {at_round}" if at_round else "before its first round"
    return f"Forked from {forked_from} {where}; what that past cost is counted there."


def known_debaters(setup: Opened) -> tuple[Debater, ...]:
    """The debaters; none before positions are proposed, and none for advisors, who have no positions."""
    return () if setup.needs_framing or setup.answering else setup.debaters


def framing_line(setup: Opened) -> str:
    """Where the positions come from, in a sentence or two; "" if the caller named the debaters."""
    if setup.needs_framing:
        return "A model names the positions before round 1."
    if not (framing := setup.framing):
        return ""
    if framing.problem:
        return describe_framing_problem(setup)
    kind = "a yes-or-no question" if framing.question_kind == "yes_no" else "an open question"
    assumption = f" Taken for given: {quote_heading(framing.assumption)}" if framing.assumption else ""
    return f"The question was read as {kind}.{assumption}"


def list_lookups(debate: Debate) -> list[dict[str, Any]]:
    """What seats looked up, by round, seat and answer."""
    lookups = [
        research.model_dump(include={"round", "seat", "slot_index"})
        | lookup.model_dump(include={"tool", "arguments", "result", "failed"})
        for research in name_debate(debate).research
        if shows_seat(debate, research.seat)
        for lookup in research.lookups
    ]
    return sorted(lookups, key=lambda row: (row["round"], row["seat"], row["slot_index"]))


class Turn(BaseModel):
    """One turn, in the shape of requirement C11."""

    round: int
    phase: str
    agent: str
    stance: str = ""
    text: str
    act: str = "argument"
    to: Annotated[str, Field(description="The recipient of a message or an answer")] = ""
    retracted: Annotated[bool, Field(description="Left out of prompts since it was retracted")] = False
    unanswered: Annotated[bool, Field(description="A message without an answer")] = False


def visible_turns(debate: Debate, since_round: int = 0) -> list[Turn]:
    """The turns from a round on; within a round in the order of the prompts."""
    named = name_debate(debate)
    advice_turns = [
        Turn(
            round=event.round,
            phase=debate.rounds[event.round - 1].phase,
            agent=event.seat,
            stance="",
            text=describe_advice(debate, event)[1],
            act=debate.round_phase(event.round).wants,
            retracted=not debate.is_active(event),
        )
        for event in named.advice
        if event.round >= since_round
    ]
    return advice_turns + [
        Turn(
            round=turn.round,
            phase=debate.rounds[turn.round - 1].phase,
            agent=turn.seat,
            stance=debate.debater(turn.seat).stance,
            text=show_turn(debate, turn),
            act=turn.act,
            to=turn.to,
            retracted=not debate.is_active(turn),
            unanswered=is_unanswered(debate, turn),
        )
        for round_number in range(max(since_round, 1), debate.round + 1)
        for turn in named.transcript_turns(round_number)
        if shows_seat(debate, turn.seat)
    ]
