"""What is asked where judges leave a question open, before the verdict: more judges, then the mirror.

Judges who leave a question open (contested, undecided) are joined by those in reserve. The mirror is the same debate
held again, as a debate of its own, with the stances handed on among the debaters: what a position is worth stays with
it, what a debater's skill does moves with the debater. Its judges vote on the same positions, so that their votes are
counted beside the others.

    judges in reserve  ->  the mirror  ->  Concluded

Each needs room in the budget: the mirror takes as much again as the debate took, and is not begun with less.
"""

from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from typing import Any, assert_never

from server.debate.facts.beliefs import Belief, Weight
from server.debate.facts.escalation import (
    EscalationEvent,
    JudgesAdded,
    MirrorHeld,
    MirrorObstacle,
    MirrorOpened,
    MirrorReading,
    MirrorSkipped,
    OpenedBecause,
    Spent,
)
from server.debate.facts.events import Outcome
from server.debate.facts.interventions import TalkConcluded
from server.debate.facts.setup.limits import Limits, Window
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import AWAITED
from server.debate.rules.advance import comes_after_verdict
from server.debate.rules.budget import (
    ElapsedTime,
    compute_remaining,
    compute_spending,
)
from server.debate.state.debate import Debate, judge_seats, replace
from server.debate.state.labels import find_first_side, label_debaters
from server.debate.state.seats import find_models, find_own_models
from server.debate.votes.panel import compute_judge_vote, list_mirrored_names
from server.debate.votes.verdict import count_panel
from server.debate.votes.voters import verdict_source

JUDGES_AT_A_TIME = 2
"""Judges that are added together, before the votes are counted again."""

OPEN_OUTCOMES: tuple[Outcome, ...] = ("contested", "undecided")


@dataclass(frozen=True, slots=True)
class Mirror:
    """The mirror is to be held to its end. `debate_id`: "" as long as it is not opened."""

    because: OpenedBecause
    debate_id: str = ""


def find_escalation(debate: Debate, elapsed: ElapsedTime) -> EscalationEvent | Mirror | None:
    """What comes between the votes of the judges and the verdict; None where the verdict follows."""
    if not is_panel_heard(debate) or debate.mirror:
        return None
    if opened := debate.mirror_opened:
        if is_concluded_on_request(debate):
            return build_skipped(debate, "request", "somebody concluded the debate while it was held")
        return Mirror(opened.because, opened.debate_id)
    votes = tuple(compute_judge_vote(debate, judge) for judge in judge_seats(debate.setup))
    outcome = count_panel(debate, votes).outcome
    if added := find_added_judges(debate, outcome, elapsed):
        return added
    because: OpenedBecause | None = "request" if debate.setup.mirror == "on" else None
    if debate.setup.mirror == "if_contested" and outcome in OPEN_OUTCOMES:
        because = "contested" if outcome == "contested" else "undecided"
    if because is None:
        return None
    return find_mirror_obstacle(debate, elapsed) or Mirror(because)


def is_panel_heard(debate: Debate) -> bool:
    """Whether the judges have been heard on a talk, and the verdict is not recorded."""
    phase = debate.phase
    is_judged = phase is not None and phase.is_judgment and verdict_source(debate.setup) == "judges"
    return is_judged and debate.verdict is None and not debate.skipped


def is_concluded_on_request(debate: Debate) -> bool:
    return any(made.cause == "request" for made in debate.find_interventions(TalkConcluded))


def find_added_judges(debate: Debate, outcome: Outcome, elapsed: ElapsedTime) -> JudgesAdded | None:
    """The next judges in reserve, as many as the budget allows; None where they are not needed."""
    panel = debate.setup.judges
    is_informative = any(judged.informative for judged in debate.judgments)
    if outcome not in OPEN_OUTCOMES or not is_informative or is_concluded_on_request(debate):
        return None
    affordable = compute_remaining(debate, elapsed).calls // (2 if panel.both_orders else 1)
    left = [model for model in panel.reserve if model not in panel.models]
    models = tuple(left[: min(JUDGES_AT_A_TIME, affordable)])
    return JudgesAdded(round=debate.round, models=models) if models else None


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
    if not any(judged.informative for judged in debate.judgments):
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
    limits, used = debate.limits, compute_spending(debate)
    rows: tuple[tuple[str, int | str, int | Decimal], ...] = (
        ("calls", limits.max_calls, used.calls),
        ("input tokens", limits.max_input_tokens, used.input_tokens),
        ("output tokens", limits.max_output_tokens, used.output_tokens),
        ("US dollars", limits.max_cost_usd, used.cost_usd),
        ("seconds", limits.max_seconds, int(elapsed.debate_seconds)),
    )
    for unit, limit, amount in rows:
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
    changed: dict[str, Any] = {
        "debaters": debaters,
        "judges": setup.judges.model_copy(update={"models": judges, "reserve": ()}),
        "phases": tuple(phase for phase in setup.phases if not comes_after_verdict(phase)),
        "memory": setup.memory and setup.memory.forget_texts(),
        "max_rounds": debate.max_rounds,
        "max_turns": debate.max_turns,
        "seed": int.from_bytes(sha256(f"{setup.seed}:mirror".encode()).digest()[:4]) >> 1 or 1,
        "limits": build_limits_left(debate, elapsed),
        "weights": tuple(Weight(seat=seat, weight=str(weight)) for seat, weight in debate.weights.items()),
        "mirror_of": debate_id,
    }
    for officer in ("moderator", "referee", "observer", "analyst"):
        if seat := getattr(setup, officer):
            changed[officer] = seat.model_copy(update={"model": models[officer]})
    changed |= {"run": False, "mirror": "off", "skip_if_agreed": False, "pause_when": ()}
    changed |= {"synthesizer": None, "output_schema": "", "framer": None, "framing": None, "ledger": None}
    changed |= {"team": None}  # its seats have the models that the debate's have by now
    changed |= dict.fromkeys(("forked_from", "forked_root", "forked_import", "forked_hash"), "")
    mirrored = setup.model_copy(
        update=changed | {"has_predicate": False, "forked_at_round": 0, "forked_restanced": ()}
    )
    called = {*find_models(mirrored), *setup.fallback_models, setup.meter.model if setup.meter else ""}
    prices = {price.model: price for price in debate.prices if price.model in called}
    windows = (Window(model=model, tokens=size) for model, size in debate.windows.items() if model in called)
    labels = label_debaters(mirrored, debaters)
    return mirrored.model_copy(
        update={"labels": labels, "prices": tuple(prices.values()), "windows": tuple(windows)}
    )


def build_limits_left(debate: Debate, elapsed: ElapsedTime) -> Limits:
    """What is left of the limits. A limit that is left in full stays none, and one that is spent allows the least."""
    limits, used = debate.limits, compute_spending(debate)
    cost = Decimal(limits.max_cost_usd or 0) - used.cost_usd
    return limits.model_copy(
        update={
            "max_calls": limits.max_calls and max(limits.max_calls - used.calls, 1),
            "max_input_tokens": limits.max_input_tokens
            and max(limits.max_input_tokens - used.input_tokens, 1),
            "max_output_tokens": limits.max_output_tokens
            and max(limits.max_output_tokens - used.output_tokens, 1),
            "max_cost_usd": limits.max_cost_usd and f"{max(cost, Decimal('0.000001')):f}",
            "max_seconds": limits.max_seconds and max(limits.max_seconds - int(elapsed.debate_seconds), 1),
            "on_budget": "conclude",
        }
    )


def build_mirror_held(debate: Debate, debate_id: str, head: str, mirror: Debate) -> MirrorHeld:
    """What a debate records of its mirror, which has its verdict. `head`: the hash of the entry that ended it."""
    found, spent = read_mirror(mirror), build_spent(mirror)
    return MirrorHeld(round=debate.round, debate_id=debate_id, head=head, readings=found, spent=spent)


def build_spent(mirror: Debate) -> Spent:
    """What a mirror took. Its cost is unknown where no price was."""
    used = compute_spending(mirror)
    paid = [answer for answer in mirror.usage if not answer.reused_from]
    cost = f"{used.cost_usd:f}" if any(answer.cost_usd for answer in paid) else ""
    return Spent(
        calls=used.calls,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cost_usd=cost,
        reused_turns=mirror.reused_turn_count,
    )


def read_mirror(mirror: Debate) -> tuple[MirrorReading, ...]:
    """What the judges of a mirror found, in the order of seats and readings."""
    seats = judge_seats(mirror.setup)
    ordered = sorted(mirror.judgments, key=lambda judged: (seats.index(judged.seat), judged.slot_index))
    return tuple(
        MirrorReading(
            judge=judged.seat,
            number=judged.slot_index,
            model=judged.usage.model,
            winner=judged.winner,
            margin=judged.margin,
            beliefs=judged.beliefs,
            first=find_first_side(mirror, judged.slot_index),
            for_synthesis=bool(judged.common_position),
            informative=judged.informative,
        )
        for judged in ordered
    )


def find_escalation_problem(debate: Debate, event: EscalationEvent) -> str:
    """Why an event is not possible now; "" where it is."""
    if event.round != debate.round or not is_panel_heard(debate) or debate.mirror:
        return "the judges were not heard, or the mirror is over"
    match event:
        case JudgesAdded():
            panel = debate.setup.judges
            left = {*panel.reserve} - {*panel.models}
            is_possible = debate.mirror_opened is None and left.issuperset(event.models)
            problem = "they are not in reserve"
        case MirrorOpened():
            is_possible = debate.mirror_opened is None and debate.setup.mirror != "off"
            problem = "nobody wants a mirror, or it is open"
        case MirrorSkipped():
            is_possible = debate.setup.mirror != "off"
            problem = "nobody wants a mirror"
        case MirrorHeld():
            is_possible, problem = (
                are_readings_possible(debate, event),
                "its readings are not those of these judges",
            )
        case _:
            assert_never(event)
    return "" if is_possible else problem


def are_readings_possible(debate: Debate, event: MirrorHeld) -> bool:
    opened, names = debate.mirror_opened, {*debate.names, ""}
    keys = [(reading.judge, reading.number) for reading in event.readings]
    most = 2 if debate.setup.judges.both_orders else 1
    return (
        opened is not None
        and opened.debate_id == event.debate_id
        and len(set(keys)) == len(keys)
        and all(
            reading.judge in judge_seats(debate.setup)
            and reading.number <= most
            and reading.winner in names
            and reading.first in debate.names
            and not (reading.winner and reading.for_synthesis)
            and (not reading.beliefs or are_whole(debate, reading.beliefs))
            for reading in event.readings
        )
    )


def are_whole(debate: Debate, beliefs: tuple[Belief, ...]) -> bool:
    """Whether they are one for each position and none, in order, and together 100."""
    is_sum = sum(belief.percent for belief in beliefs) == 100  # noqa: PLR2004
    return is_sum and tuple(belief.name for belief in beliefs) == (*debate.names, "")


def apply_escalation(debate: Debate, event: EscalationEvent) -> Debate:
    match event:
        case JudgesAdded():
            panel = debate.setup.judges
            models = (*panel.models, *event.models)
            setup = debate.setup.model_copy(update={"judges": panel.model_copy(update={"models": models})})
            return replace(debate, setup=setup, judges_added=(*debate.judges_added, event))
        case MirrorOpened():
            return replace(debate, mirror_opened=event)
        case MirrorHeld() | MirrorSkipped():
            return replace(debate, mirror=event)
        case _:
            assert_never(event)
