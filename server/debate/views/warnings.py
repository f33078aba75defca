"""What weakens a verdict, told to whoever reads it: nothing fails in silence."""

import math
from collections import Counter

from server.debate.commands.open import describe_stance_changes
from server.debate.facts.config import CALLER
from server.debate.facts.events import Failed
from server.debate.facts.interventions import ModelReplaced
from server.debate.facts.state import Debate, seat_kind
from server.debate.facts.text import format_count
from server.debate.rules.schedule import candidate_models, has_final_failure, seat_models


def failure_lines(debate: Debate) -> list[str]:
    """Each way in which a seat failed, with how often: nothing fails in silence."""
    failed: list[tuple[str, str, str]] = [(format_failed_seat(f), f.cause, f.detail) for f in debate.failures]
    failed += [(f.seat, "hand-off", f.detail) for f in debate.handoff_failures]
    for made in debate.research:
        failed += [(made.seat, "research", f"{f.tool}: {f.failed}") for f in made.lookups if f.failed]
    return [
        f"{seat}: {detail} ({cause}{f', {times} times' if times > 1 else ''})"
        for (seat, cause, detail), times in Counter(failed).items()
    ]


def format_failed_seat(failure: Failed) -> str:
    """The seat, with its model where that is not told anyway."""
    told = not failure.model or failure.model in failure.detail
    return failure.seat if told else f"{failure.seat} ({failure.model})"


def find_verdict_warnings(debate: Debate) -> list[str]:
    """What the reader of a verdict has to know to weigh it."""
    said = []
    # Who writes for a caller is not known: one, or as many as there are seats.
    models = dict.fromkeys(turn.usage.model for turn in debate.turns)
    if len(models) == 1 and CALLER not in models:
        said.append(f"One model argued every side ({next(iter(models))}): count it as one voice.")
    if has_uninformative_decision(debate):
        said.append(
            "The embedded model judged. It is far too small for that: its choice means nothing and is not "
            "counted. Read the arguments, or judge again with a larger model."
        )
    judging = {reply.usage.model for reply in debate.replies if seat_kind(reply.seat) == "judges"}
    if judging and not judging - (set(models) - {CALLER}):
        said.append("The judges' models also debated, and models lean towards their own words.")
    unheard = [name for name in debate.names if all(turn.seat != name for turn in debate.turns)]
    if debate.turns and unheard:
        said.append(f"Never heard: {', '.join(unheard)}. What speaks for them was said by nobody.")
    if failed := len(debate.failures):
        said.append(
            f"{format_count(failed, 'answer')} failed; see failures. {describe_failed_models(debate)}".rstrip()
        )
    said += fallback_lines(debate)
    if drawn := len(debate.handoff_failures):
        said.append(
            f"{format_count(drawn, 'choice')} of the next speaker could not be used; who spoke was drawn."
        )
    if debate.setup.forked_restanced:
        said.append(describe_stance_changes(debate.setup))
    if any(turn.cut for turn in debate.turns):
        said.append(
            f"Cut at the length limit: {format_count(sum(turn.cut for turn in debate.turns), 'turn')}."
        )
    return said


def fallback_lines(debate: Debate) -> list[str]:
    """Which model spoke for a seat in place of its own, and from when on."""
    told = []
    for seat, own in seat_models(debate.setup).items():
        lost = find_failover_round(debate, seat, own)
        since = (fact for fact in debate.replies if fact.seat == seat and fact.round >= lost)
        # A debate that was resumed begins with the seat's own model again, and providers add dates to names.
        said = dict.fromkeys(fact.usage.model for fact in since)
        others = [model for model in said if not model.startswith(own)]
        if others:
            told.append(f"{', '.join(others)} stood in for {seat} ({own}) from round {lost} on.")
    return told


def describe_failed_models(debate: Debate) -> str:
    """Which models did not answer, in a sentence; "" where each did in the end."""
    failing = Counter((f.model, f.cause) for f in debate.failures if f.model)
    gone = [
        model for model in dict.fromkeys(model for model, _ in failing) if not has_answered(debate, model)
    ]
    if not gone:
        return ""
    asked = {
        *seat_models(debate.setup).values(),
        *(made.model for made in debate.find_interventions(ModelReplaced)),
        *gone,
    } - {CALLER}
    stood_in = {model for model in debate.setup.fallback_models if has_answered(debate, model)}
    told = [
        f"{model} {CAUSE_TEXTS.get(cause, cause)} {format_count(times, 'time')}"
        for (model, cause), times in failing.items()
        if model in gone
    ]
    there = asked | stood_in
    heard = len(there) - len(gone)
    return f"{heard} of {format_count(len(there), 'model')} answered: {'; '.join(told)}."


def has_answered(debate: Debate, model: str) -> bool:
    """Whether a model was of use, under whatever name: providers answer with others, such as dated ones.

    Who spoke for a seat is its own model, until that failed for good and another stood in.
    """
    said = debate.replies
    if any(fact.usage.model == model for fact in said):
        return True
    until = {
        seat: find_failover_round(debate, seat, model)
        for seat, own in seat_models(debate.setup).items()
        if own == model
    }
    return any(fact.round < until.get(fact.seat, 0) for fact in said)


def find_failover_round(debate: Debate, seat: str, model: str) -> float:
    """The round in which a seat was first left by its own model; never, where there is no other for it."""
    if candidate_models(debate, seat) == (model,):
        return math.inf
    # Who was late is asked again in the next round, and nobody in its place.
    failures = [f for f in debate.failures if (f.seat, f.model) == (seat, model) and f.cause != "late"]
    lost = (
        f.round
        for f in failures
        if has_final_failure([other for other in failures if other.round == f.round])
    )
    return min(lost, default=math.inf)


CAUSE_TEXTS = {
    "empty": "said nothing",
    "unreadable": "gave no usable answer",
    "timeout": "timed out",
    "late": "was too late",
    "rate_limited": "was rate-limited",
    "unavailable": "could not be reached",
    "unauthorized": "refused the key",
    "bad_request": "refused the request",
    "refused": "refused to answer",
    "crashed": "crashed",
}
"""What a model did that did not answer."""


def has_uninformative_decision(debate: Debate) -> bool:
    """Whether a model took part in deciding that is too small for it."""
    deciding = (*debate.judgments, *debate.round_summaries, *debate.ballots)
    result = () if debate.deliverable is None else (debate.deliverable,)
    return any(not fact.informative for fact in (*deciding, *result))
