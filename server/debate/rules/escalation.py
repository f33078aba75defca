"""What is asked before the verdict of judges: the mirror.

The mirror is the same debate held again, as a debate of its own, with the stances handed on among the debaters: what a
position is worth stays with it, what a debater's skill does moves with the debater. Its judges vote on the same
positions, so that their votes are counted beside the others. It takes as much again as the debate took, and is not
begun with less budget.
"""

from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from typing import Any, assert_never

from server.debate.facts.beliefs import Belief, Weight
from server.debate.facts.escalation import (
    EscalationEvent,
    MirrorHeld,
    MirrorObstacle,
    MirrorOpened,
    MirrorReading,
    MirrorSkipped,
    OpenedBecause,
    Spent,
)
from server.debate.facts.interventions import TalkConcluded
from server.debate.facts.setup.limits import Limits, Window
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import AWAITED, MODERATOR
from server.debate.rules.budget import ElapsedTime, compute_spending, list_expenses
from server.debate.rules.course import comes_after_verdict
from server.debate.rules.verdict import count_panel
from server.debate.state.debate import Debate, judge_seats
from server.debate.state.labels import find_first_side, label_seats
from server.debate.state.seats import find_models, find_own_models
from server.debate.votes.counting import Count
from server.debate.votes.panel import compute_judge_vote, list_mirrored_names
from server.debate.votes.readings import list_speaker_models
from server.debate.votes.voters import ORDERS, verdict_source


@dataclass(frozen=True, slots=True)
class Mirror:
    """The mirror is to be held to its end. `debate_id`: "" as long as it is not opened."""

    because: OpenedBecause
    debate_id: str = ""


def find_escalation(debate: Debate, elapsed: ElapsedTime) -> EscalationEvent | Mirror | None:
    """What comes between the votes of the judges and the verdict; None where the verdict follows."""
    if not is_panel_heard(debate) or debate.mirror:
        return None
    if opening := debate.mirror_opened:
        if is_concluded_on_request(debate):
            return build_skipped(debate, "request", "somebody concluded the debate while it was held")
        return Mirror(opening.because, opening.debate_id)
    votes = tuple(compute_judge_vote(debate, judge) for judge in judge_seats(debate.setup))
    because: OpenedBecause | None = "request" if debate.setup.mirror == "on" else None
    if debate.setup.mirror == "if_decided" and may_have_been_the_debater(debate, count_panel(debate, votes)):
        because = "decided"
    if because is None:
        return None
    return find_mirror_obstacle(debate, elapsed) or Mirror(because)


def may_have_been_the_debater(debate: Debate, count: Count) -> bool:
    """Whether a side that nobody is against had another model to argue it than the rest."""
    argued_by = {frozenset(models) for models in list_speaker_models(debate).values()}
    return count.outcome in ("decided", "leaning") and not count.against and len(argued_by) > 1


def is_panel_heard(debate: Debate) -> bool:
    """Whether the judges have been heard on a talk, and the verdict is not recorded."""
    phase = debate.phase
    is_judged = phase is not None and phase.is_judgment and verdict_source(debate.setup) == "judges"
    return is_judged and debate.verdict is None


def is_concluded_on_request(debate: Debate) -> bool:
    return any(conclusion.cause == "request" for conclusion in debate.find_interventions(TalkConcluded))


def find_mirror_obstacle(debate: Debate, elapsed: ElapsedTime) -> MirrorSkipped | None:
    """Why a mirror that is wanted cannot be held; None where it can."""
    models = find_own_models(debate)
    writing = [seat for seat in (*debate.names, *judge_seats(debate.setup)) if models[seat] in AWAITED]
    if is_concluded_on_request(debate):
        return build_skipped(debate, "request", "somebody concluded the debate")
    if writing:
        return build_skipped(debate, "caller", f"the server alone can ask nobody for {', '.join(writing)}")
    if debate.setup.prompt_functions:
        return build_skipped(debate, "code", "code of the caller writes its prompts")
    if not any(judgment.informative for judgment in debate.judgments):
        return build_skipped(
            debate, "uninformative", "its judges are too small for their votes to mean anything"
        )
    if shortfall := find_mirror_shortfall(debate, elapsed):
        return build_skipped(debate, "budget", shortfall)
    return None


def build_skipped(debate: Debate, cause: MirrorObstacle, reason: str) -> MirrorSkipped:
    return MirrorSkipped(round=debate.round, cause=cause, reason=reason)


def find_mirror_shortfall(debate: Debate, elapsed: ElapsedTime) -> str:
    """Which limit does not allow as much again as the debate took so far; "" where all do."""
    for unit, limit, amount, _ in list_expenses(debate, elapsed):
        if limit and 2 * amount > Decimal(limit):
            return f"{amount} of {limit} {unit} are spent, and it would take as much again"
    return ""


def build_mirror_setup(debate: Debate, debate_id: str, elapsed: ElapsedTime) -> Opened:
    """The set-up of the mirror: the same debate, with each stance argued by the debater before, on the same models.

    Its limits are what is left of the debate's. It has no mirror, no breakpoints and no result of its own.
    """
    setup, models = debate.setup, find_own_models(debate)
    owners = list_mirrored_names(debate)
    debaters = tuple(
        each.model_copy(
            update={"model": models[each.name], "stance": debate.debater(owners[each.name]).stance}
        )
        for each in setup.debaters
    )
    judges = tuple(models[seat] for seat in judge_seats(setup))
    changes: dict[str, Any] = {  # a seed of 0 would mean that one is to be drawn
        "debaters": debaters,
        "judges": setup.judges.model_copy(update={"models": judges}),
        "phases": tuple(phase for phase in setup.phases if not comes_after_verdict(phase)),
        "memory": setup.memory and setup.memory.forget_texts(),
        "max_rounds": debate.max_rounds,
        "max_turns": debate.max_turns,
        "seed": int.from_bytes(sha256(f"{setup.seed}:mirror".encode()).digest()[:4]) >> 1 or 1,
        "limits": build_limits_left(debate, elapsed),
        "weights": tuple(Weight(seat=seat, weight=str(weight)) for seat, weight in debate.weights.items()),
        "mirror_of": debate_id,
    }
    if setup.moderator:
        changes["moderator"] = setup.moderator.model_copy(update={"model": models[MODERATOR]})
    officers = (officer.model_copy(update={"model": models[officer.seat]}) for officer in setup.officers)
    changes["officers"] = tuple(officers)
    changes |= {"run": False, "mirror": "off", "pause_when": ()}
    changes |= {"synthesizer": None, "output_schema": "", "framer": None, "ledger": None}
    changes |= {"team": None}  # its seats have the models that the debate's have by now
    changes |= dict.fromkeys(("forked_from", "forked_root", "forked_import", "forked_hash"), "")
    mirror_setup = setup.model_copy(
        update=changes | {"has_predicate": False, "forked_at_round": 0, "forked_restanced": ()}
    )
    models_to_ask = {
        *find_models(mirror_setup),
        *setup.fallback_models,
        setup.meter.model if setup.meter else "",
    }
    prices = {price.model: price for price in debate.prices if price.model in models_to_ask}
    windows = (
        Window(model=model, tokens=size) for model, size in debate.windows.items() if model in models_to_ask
    )
    return label_seats(
        mirror_setup.model_copy(update={"prices": tuple(prices.values()), "windows": tuple(windows)})
    )


def build_limits_left(debate: Debate, elapsed: ElapsedTime) -> Limits:
    """What is left of the limits. No limit stays no limit; one that is used up becomes the least that there is."""
    limits, spending = debate.limits, compute_spending(debate)
    cost = Decimal(limits.max_cost_usd or 0) - spending.cost_usd
    return limits.model_copy(
        update={
            "max_calls": limits.max_calls and max(limits.max_calls - spending.calls, 1),
            "max_input_tokens": limits.max_input_tokens
            and max(limits.max_input_tokens - spending.input_tokens, 1),
            "max_output_tokens": limits.max_output_tokens
            and max(limits.max_output_tokens - spending.output_tokens, 1),
            "max_cost_usd": limits.max_cost_usd and f"{max(cost, Decimal('0.000001')):f}",
            "max_seconds": limits.max_seconds and max(limits.max_seconds - int(elapsed.debate_seconds), 1),
            "on_budget": "conclude",
        }
    )


def build_mirror_held(debate: Debate, debate_id: str, head: str, mirror: Debate) -> MirrorHeld:
    """What a debate records of its mirror, which has its verdict. `head`: the hash of the entry that ended it."""
    readings, spending = read_mirror(mirror), build_spent(mirror)
    return MirrorHeld(round=debate.round, debate_id=debate_id, head=head, readings=readings, spent=spending)


def build_spent(mirror: Debate) -> Spent:
    """What a mirror took. Its cost is unknown where no price was."""
    spending = compute_spending(mirror)
    paid_usages = [answer for answer in mirror.usage if not answer.reused_from]
    cost = f"{spending.cost_usd:f}" if any(answer.cost_usd for answer in paid_usages) else ""
    return Spent(
        calls=spending.calls,
        input_tokens=spending.input_tokens,
        output_tokens=spending.output_tokens,
        cost_usd=cost,
        reused_turns=mirror.reused_turn_count,
    )


def read_mirror(mirror: Debate) -> tuple[MirrorReading, ...]:
    """What the judges of a mirror found, in the order of seats and readings."""
    seats = judge_seats(mirror.setup)
    judgments = sorted(
        mirror.judgments, key=lambda judgment: (seats.index(judgment.seat), judgment.slot_index)
    )
    return tuple(
        MirrorReading(
            judge=judgment.seat,
            number=judgment.slot_index,
            model=judgment.usage.model,
            winner=judgment.winner,
            margin=judgment.margin,
            beliefs=judgment.beliefs,
            first=find_first_side(mirror, judgment.slot_index),
            for_synthesis=not judgment.winner and bool(judgment.recommendation),
            informative=judgment.informative,
        )
        for judgment in judgments
    )


def find_escalation_problem(debate: Debate, event: EscalationEvent) -> str:
    """Why an event is not possible now; "" where it is."""
    if event.round != debate.round:
        return f"round {event.round} is not under way"
    if not is_panel_heard(debate):
        return "the judges were not heard"
    if debate.mirror:
        return "the mirror is over"
    wants_none = "nobody wants a mirror" if debate.setup.mirror == "off" else ""
    is_open = "the mirror is open" if debate.mirror_opened else ""
    match event:
        case MirrorOpened():
            return wants_none or is_open
        case MirrorSkipped():
            return wants_none
        case MirrorHeld():
            is_possible = are_readings_possible(debate, event)
            return "" if is_possible else "its readings are not those of these judges"
        case _:
            assert_never(event)


def are_readings_possible(debate: Debate, event: MirrorHeld) -> bool:
    opening, names = debate.mirror_opened, {*debate.names, ""}
    keys = [(reading.judge, reading.number) for reading in event.readings]
    numbers = ORDERS if debate.setup.judges.both_orders else ORDERS[:1]
    return (
        opening is not None
        and opening.debate_id == event.debate_id
        and len(set(keys)) == len(keys)
        and all(
            reading.judge in judge_seats(debate.setup)
            and reading.number in numbers
            and reading.winner in names
            and reading.first in debate.names
            and not (reading.winner and reading.for_synthesis)
            and (not reading.beliefs or are_whole(debate, reading.beliefs))
            for reading in event.readings
        )
    )


def are_whole(debate: Debate, beliefs: tuple[Belief, ...]) -> bool:
    """Whether there is one belief for each position and one for none of them, in order, and they add up to 100."""
    is_sum = sum(belief.percent for belief in beliefs) == 100  # noqa: PLR2004
    return is_sum and tuple(belief.name for belief in beliefs) == (*debate.names, "")
