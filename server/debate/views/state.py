"""The state of a debate: participants, progress, outcome and usage."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import takewhile
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from server.debate.analysis.mirrors import describe_added_work
from server.debate.ballots.waves import is_private_ballot
from server.debate.commands.setup.debaters import describe_framing_problem
from server.debate.documents.marks import disarm_marks
from server.debate.facts.answers import Usage
from server.debate.facts.causes import PAUSED_ON_REQUEST
from server.debate.facts.events import Paused, Recorded
from server.debate.facts.interventions import PositionsDeclined, TalkConcluded
from server.debate.facts.quoting import quote_heading
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import WRITTEN, Debater
from server.debate.facts.text import format_count
from server.debate.machine.decide import format_wait_reason, status
from server.debate.rules.calls import pending_calls
from server.debate.rules.schedule import is_unanswered
from server.debate.state.debate import Debate
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
    def status(self) -> str:
        return status(self.debate)

    @property
    def is_unattended(self) -> bool:
        """Whether the debate runs to its end without being stepped, because somebody here asked for that."""
        return self.debate.is_unattended and has_own_request(self.entries)


def has_own_request(entries: Sequence[Recorded]) -> bool:
    """Whether somebody asked here, and not before it came with a file, for the end of a debate that runs by itself."""
    if not entries[0].restored:
        return True  # all of them were recorded here
    own = takewhile(lambda entry: not entry.restored, reversed(entries))
    return any(isinstance(entry.event, TalkConcluded) for entry in own)


class UsageSum(BaseModel):
    """The sum of the usage of several answers. `cost_usd` is a decimal, "" if no price is known.

    What the caller wrote is no call.
    """

    calls: int
    caller_turns: int
    reused: int = 0  # answers of other debates
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost_usd: str
    calls_of_unknown_cost: int


def sum_usage(usages: Sequence[Usage]) -> UsageSum:
    paid = [usage for usage in usages if not usage.reused_from]
    known = [Decimal(usage.cost_usd) for usage in paid if usage.cost_usd]
    written, reused = sum(one.model in WRITTEN for one in usages), len(usages) - len(paid)
    is_known = bool(known or (reused and not paid))
    return UsageSum(
        calls=len(paid) - written,
        caller_turns=written,
        reused=reused,
        input_tokens=sum(usage.input_tokens for usage in usages),
        cached_tokens=sum(usage.cached_tokens for usage in usages),
        output_tokens=sum(usage.output_tokens for usage in usages),
        cost_usd=f"{sum(known, Decimal()):f}" if is_known else "",
        calls_of_unknown_cost=len(paid) - len(known),
    )


def cost_line(usage: UsageSum) -> str:
    """Calls, tokens and cost in a sentence. Unknown prices are named as unknown."""
    tokens = f"{usage.input_tokens:,} tokens in ({usage.cached_tokens:,} cached), {usage.output_tokens:,} out"
    if not usage.input_tokens + usage.output_tokens:
        tokens = "tokens unknown"  # as of a client's model
    written = f"{format_count(usage.caller_turns, 'turn')} of the caller" if usage.caller_turns else ""
    others = [part for part in (written, f"{usage.reused} reused" * bool(usage.reused)) if part]
    if not usage.calls:
        return ", ".join(("No calls", *others)) + "." if others else "No calls yet."
    price = f"${usage.cost_usd}" if usage.cost_usd else "price unknown"
    if usage.cost_usd and usage.calls_of_unknown_cost:
        price += f" and {format_count(usage.calls_of_unknown_cost, 'call')} of unknown price"
    asked = ", ".join((format_count(usage.calls, "call"), *others))
    return f"{asked}, {tokens}, {price}."


def build_usage(debate: Debate) -> dict[str, Any]:
    """{"total": the sum, "models": the sum of each that was called, "mirror": what that debate spent for this one}."""
    models: dict[str, list[Usage]] = {}
    for used in debate.usage:
        if used.model not in WRITTEN:
            models.setdefault(used.model, []).append(used)
    sums = {model: sum_usage(usages).model_dump() for model, usages in models.items()}
    spent = debate.mirror.spent.model_dump() if debate.mirror else {}
    return {"total": sum_usage(debate.usage).model_dump(), "models": sums, "mirror": spent}


def describe_costs(debate: Debate) -> tuple[str, str]:
    """(calls, tokens and cost of the debate, and of its mirror, in sentences; US dollars of both, "" where unknown)."""
    usage, mirror = sum_usage(debate.usage), debate.mirror
    if mirror is None or not mirror.spent.calls:
        return cost_line(usage), usage.cost_usd
    spent = mirror.spent
    tokens = f"{spent.input_tokens:,} tokens in, {spent.output_tokens:,} out"
    price = f"${spent.cost_usd}" if spent.cost_usd else "price unknown"
    total = (
        f"{Decimal(usage.cost_usd) + Decimal(spent.cost_usd):f}" if usage.cost_usd and spent.cost_usd else ""
    )
    line = f"{cost_line(usage)} Its mirror: {format_count(spent.calls, 'call')}, {tokens}, {price}."
    return line, total


def build_state(stored: StoredDebate) -> dict[str, Any]:
    """Participants, progress, cost and outcome; "" for what there is not. Times are UTC, in ISO 8601."""
    debate = stored.debate
    setup, verdict = debate.setup, debate.verdict
    summaries = name_debate(debate).round_summaries
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
                "turns": sum(turn.seat == debater.name for turn in debate.turns),
                "failures": count_failures(debate, debater.name),
            }
            for debater in known_debaters(setup)
        ],
        **show_team(setup),
        "awaiting": awaited_seats(debate),
        "outcome": verdict.outcome if verdict else "",
        "winner": verdict.winner if verdict else "",
        "winner_stance": debate.debater(verdict.winner).stance if verdict and verdict.winner else "",
        "verdict": disarm_marks(verdict.verdict) if verdict else "",
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
    """Why the debate ended, paused or waits, or what it does beyond itself; "" while it just runs."""
    if debate.ended:
        return debate.ended.reason
    if paused := name_debate(debate).paused:
        return f"on request: {quote_heading(paused.reason)}" if is_reason_given(paused) else paused.reason
    if status(debate) != "waiting":
        is_declined = debate.find_interventions(PositionsDeclined) and not debate.rounds
        return DECLINED if is_declined else describe_added_work(debate)
    awaited = pending_calls(debate)
    told = [format_wait_reason(awaited)]
    if hidden := list_blind_seats(debate):
        told.append(f"What was written by {', '.join(hidden)} is shown when the round is complete.")
    if any(is_private_ballot(call.slot_index) for call in awaited):
        told.append("Private ballots are shown when the debate has ended.")
    return " ".join(told)


def is_reason_given(paused: Paused) -> bool:
    """Whether the reason of a pause is somebody's words, and not ours."""
    return paused.cause == "request" and paused.reason != PAUSED_ON_REQUEST


def origin_line(mirror_of: str, forked_from: str, at_round: int) -> str:
    """What a debate is the mirror of, or a fork of, in a sentence; "" for other debates."""
    if mirror_of:
        return f"The mirror of {mirror_of}: the same debate with the stances swapped. Its votes count there."
    return fork_origin_line(forked_from, at_round)


def fork_origin_line(forked_from: str, at_round: int) -> str:
    """Where a fork comes from, and that its inherited rounds cost nothing again; "" for other debates."""
    if not forked_from:
        return ""
    where = f"after round {at_round}" if at_round else "before its first round"
    return f"Forked from {forked_from} {where}; what that past cost is counted there."


def known_debaters(setup: Opened) -> tuple[Debater, ...]:
    """The debaters; none as long as the positions are to be proposed."""
    return () if setup.needs_framing else setup.debaters


def framing_line(setup: Opened) -> str:
    """How the positions came about, in a sentence or two; "" where the caller named the debaters."""
    if setup.needs_framing:
        return "A model names the positions before round 1."
    if not (framing := setup.framing):
        return ""
    if framing.problem:
        return describe_framing_problem(setup)
    kind = "a yes-or-no question" if framing.question_kind == "yes_no" else "an open question"
    assumed = f" Taken for given: {quote_heading(framing.assumption)}" if framing.assumption else ""
    return f"The question was read as {kind}.{assumed}"


class FoundLookup(BaseModel):
    """One look-up of a seat, with what it found."""

    round: int
    seat: str
    slot_index: int  # for a judge the reading
    tool: str
    arguments: str
    result: str
    failed: str


def visible_lookups(debate: Debate) -> list[FoundLookup]:
    """What seats looked up, in the order of rounds, seats and answers."""
    found = [
        FoundLookup(
            round=research.round,
            seat=research.seat,
            slot_index=research.slot_index,
            **lookup.model_dump(include={"tool", "arguments", "result", "failed"}),
        )
        for research in name_debate(debate).research
        if shows_seat(debate, research.seat)
        for lookup in research.lookups
    ]
    return sorted(found, key=lambda one: (one.round, one.seat, one.slot_index))


class Turn(BaseModel):
    """One turn, in the shape of requirement C11."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    round: int
    phase: str
    agent: str
    stance: str
    text: str
    act: str = "argument"
    to: Annotated[str, Field(description="The recipient of a message or an answer")] = ""
    retracted: Annotated[bool, Field(description="Left out of prompts since it was retracted")] = False
    unanswered: Annotated[bool, Field(description="A message without an answer")] = False


def visible_turns(debate: Debate, since_round: int = 0) -> list[Turn]:
    """The turns from a round on, each round in the order in which prompts quote it."""
    named = name_debate(debate)
    return [
        Turn(
            round=spoken.round,
            phase=debate.rounds[spoken.round - 1].phase,
            agent=spoken.seat,
            stance=debate.debater(spoken.seat).stance,
            text=show_turn(debate, spoken),
            act=spoken.act,
            to=spoken.to,
            retracted=not debate.is_active(spoken),
            unanswered=is_unanswered(debate, spoken),
        )
        for round_number in range(max(since_round, 1), debate.round + 1)
        for spoken in named.transcript_turns(round_number)
        if shows_seat(debate, spoken.seat)
    ]
