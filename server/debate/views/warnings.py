"""What a caller should know: of a debate before spending money on it, of failures, and of what weakens the verdict."""

import math
from collections import Counter
from itertools import chain
from typing import Any

from server.debate.arguments.extraction import list_unread_rounds
from server.debate.commands.setup.debaters import describe_framing_problem
from server.debate.commands.setup.estimate import plan_waves
from server.debate.commands.setup.formats import FORMATS
from server.debate.documents.evidence import describe_lost_quotes
from server.debate.documents.reading import describe_reading, list_reading_cautions
from server.debate.facts.answers import PredicateLost, PromptFunctionsLost, Usage
from server.debate.facts.causes import PROVIDER_CAUSES
from server.debate.facts.events import Failed, PositionsFramed, RoundOpened, Spoke
from server.debate.facts.interventions import ModelReplaced
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import CLIENT, WRITTEN, AnySeatKind, seat_kind
from server.debate.facts.text import format_count
from server.debate.prompts.transcript import format_rounds
from server.debate.rules.budget import count_expected_answers
from server.debate.rules.pauses import join_seats, unify_details
from server.debate.rules.schedule import has_final_failure
from server.debate.rules.windows import find_misfits, find_outgrown_windows
from server.debate.state.debate import Debate
from server.debate.state.seats import candidate_models, seat_models
from server.debate.views.names import name_debate
from server.debate.views.progress import format_seats
from server.debate.votes.voters import verdict_source

MANY_DEBATERS = 10

CAUSE_TEXTS: dict[str, str] = {
    "empty": "gave an empty answer",
    "unreadable": "gave no usable answer",
    "timeout": "timed out",
    "late": "was too late",
    "rate_limited": "was rate-limited",
    "unavailable": "could not be reached",
    "unauthorized": "refused the key",
    "bad_request": "refused the request",
    "too_long": "cannot read so long a prompt",
    "truncated": "was shown only a part of the prompt",
    "refused": "refused to answer",
    "crashed": "crashed",
}
"""How a model failed to answer, by cause."""


def failure_lines(debate: Debate) -> list[str]:
    """A line for each kind of failure of a seat, with the number of times; one for each failure of a provider."""
    debate = name_debate(debate)
    failed: list[tuple[str, str, str]] = []
    for f, detail in unify_details(debate, debate.failures):
        model = "" if f.model in detail else f" ({f.model})"
        failed.append((f"{f.seat}{model}", f.cause, detail))
    failed += [(f.seat, "hand-off", f.detail) for f in debate.handoff_failures]
    for found in debate.research:
        failed += [(found.seat, "research", f"{f.tool}: {f.failed}") for f in found.lookups if f.failed]
    by_cause: dict[tuple[str, str], Counter[str]] = {}
    for seat, cause, detail in failed:
        by_cause.setdefault((cause, detail), Counter())[seat] += 1
    lines = []
    for (cause, detail), seats in by_cause.items():
        is_one = cause in PROVIDER_CAUSES
        counts = {join_seats(list(seats)): seats.total()} if is_one else seats
        lines += [
            f"{who}: {detail} ({cause}{f', {times} times' if times > 1 else ''})"
            for who, times in counts.items()
        ]
    return lines


def find_verdict_warnings(debate: Debate) -> list[str]:
    """What a reader has to know to weigh the verdict."""
    warnings = [*find_partial_readings(debate), *find_skip_warnings(debate)]
    models = dict.fromkeys(turn.usage.model for turn in debate.turns)
    if len(models) == 1 and WRITTEN.isdisjoint(models):
        warnings.append(f"One model argued every side ({next(iter(models))}): count it as one voice.")
    warnings += find_judging_warnings(debate, set(models) - WRITTEN)
    warnings += find_caller_warnings(debate)
    if debate.failures:
        failed = format_count(len(debate.failures), "answer")
        warnings.append(f"{failed} failed; see failures. {describe_failed_models(debate)}".rstrip())
    warnings += fallback_lines(debate)
    if drawn := len(debate.handoff_failures):
        choices = format_count(drawn, "choice")
        warnings.append(f"{choices} of the next speaker could not be used; who spoke was drawn.")
    if lost_quotes := describe_lost_quotes(debate, debate.verdict.winner if debate.verdict else ""):
        warnings.append(lost_quotes)
    warnings += [*list_reading_cautions(debate), *describe_unread_rounds(debate)]
    if lost := debate.predicate_lost:
        warnings.append(describe_lost_predicate(lost))
    warnings += [*describe_recalled(debate.setup), *describe_reused(debate)]
    if functions := debate.prompt_functions_lost:
        warnings.append(describe_lost_functions(functions))
    if debate.setup.forked_restanced:
        warnings.append(describe_stance_changes(debate.setup))
    if problem := describe_framing_problem(debate.setup):
        warnings.append(problem)
    if cut := sum(turn.cut for turn in debate.turns):
        warnings.append(f"Cut at the length limit: {format_count(cut, 'turn')}.")
    return warnings


def list_recalled(setup: Opened) -> list[dict[str, Any]]:
    """The earlier debates that this one was told of."""
    shown = {"debate_id", "head", "at", "used_retracted", "withdrawn"}
    return [one.model_dump(include=shown) for one in (setup.memory.recalled if setup.memory else ())]


def describe_recalled(setup: Opened) -> list[str]:
    """Of which earlier debates seats were told, and which of these are gone since, or used one that is."""
    if not (setup.memory and setup.memory.recalled):
        return []
    recalled = setup.memory.recalled
    told = ["Seats were told what earlier debates concluded: {}.".format(", ".join(setup.memory.ids))]
    gone = [f"{one.debate_id} was {one.withdrawn}" for one in recalled if one.withdrawn]
    gone += [f"{one.debate_id} recalled one that was retracted" for one in recalled if one.used_retracted]
    return told + ([f"Of these, {join_seats(gone)} since."] if gone else [])


def describe_reused(debate: Debate) -> list[str]:
    """How many answers are those of other debates."""
    reused = sum(bool(usage.reused_from) for usage in debate.usage)
    mirrored = debate.mirror.spent.reused_turns if debate.mirror else 0
    parts = [format_count(reused, "answer")] if reused else []
    parts += [f"{format_count(mirrored, 'turn')} of the mirror"] if mirrored else []
    return [f"Reused from other debates: {' and '.join(parts)}. All votes are new."] if parts else []


def describe_unread_rounds(debate: Debate) -> list[str]:
    """That the points of rounds are the debaters' own, because the analyst did not read them."""
    unread = list_unread_rounds(debate)
    if not unread:
        return []
    return [f"The analyst did not read {format_rounds(unread)}: the points there are the debaters' own."]


def find_partial_readings(debate: Debate) -> list[str]:
    """Who was shown only a part of a prompt, a sentence for each seat: of a decision it was not counted."""
    worst: dict[tuple[str, bool], Usage] = {}
    for fact in (*debate.answers, *debate.failures):
        if fact.usage and fact.usage.sent_tokens:
            key = (fact.seat, isinstance(fact, Failed))
            worst[key] = max(worst.get(key, fact.usage), fact.usage, key=lambda usage: usage.sent_tokens)
    return [
        f"{seat} ({usage.model}) was shown only a part: {usage.input_tokens:,} of at least {usage.sent_tokens:,} "
        f"tokens.{' What it found is not counted.' if failed else ''}"
        for (seat, failed), usage in worst.items()
    ]


def describe_lost_predicate(lost: PredicateLost) -> str:
    what = "The condition in code that could end the talk (terminate_when)"
    return f"{what} was lost with its process: from round {lost.round} on it was not asked."


def describe_lost_functions(lost: PromptFunctionsLost) -> str:
    what = "The functions in code that write prompts were lost with their process"
    return f"{what}: from round {lost.round} on seats were told what these had written before."


def find_judging_warnings(debate: Debate, debating: set[str]) -> list[str]:
    """What weakens the decision itself. `debating`: the models that argued."""
    warnings = []
    if has_uninformative_decision(debate):
        warnings.append(
            "The embedded model judged. It is far too small for that: its choice means nothing and is not "
            "counted. Read the arguments, or judge again with a larger model."
        )
    models: dict[AnySeatKind, set[str]] = {}
    for seat, model in {(reply.seat, reply.usage.model) for reply in debate.answers}:
        models.setdefault(seat_kind(seat), set()).add(model)
    if (judging := models.get("judges")) and judging <= debating:
        warnings.append("The judges' models also debated, and models lean towards their own words.")
    if models.get("moderator", set()) & debating:
        warnings.append("The moderator's model also debated, and models lean towards their own words.")
    spoken = {debate.round_phase(number).order for number in {turn.round for turn in debate.turns}}
    if spoken and "together" not in spoken and verdict_source(debate.setup) == "judges":
        warnings.append("Debaters spoke only one after the other: what was said last could not be answered.")
    return warnings


def find_caller_warnings(debate: Debate) -> list[str]:
    """Where one caller wrote several sides, or decided about its own words. Its name tells callers apart."""
    argued: dict[str, set[str]] = {}
    judged: dict[str, set[str]] = {}
    for answer in debate.answers:
        if answer.usage.model in WRITTEN and not isinstance(answer, PositionsFramed | RoundOpened):
            by_author = argued if isinstance(answer, Spoke) else judged
            by_author.setdefault(answer.usage.author, set()).add(answer.seat)
    warnings = list_client_warnings(debate)
    for author, sides in argued.items():
        if len(sides) > 1:
            warnings.append(f"One caller wrote for {format_seats(sorted(sides))}: count it as one voice.")
        if seats := judged.get(author, set()) - sides:
            who = f"{format_seats(sorted(sides))}, and was {format_seats(sorted(seats))}"
            warnings.append(f"One caller wrote for {who}: it judged its own words.")
    return warnings


def list_client_warnings(debate: Debate) -> list[str]:
    """That a client's own model argued for several sides under different names, which the client reports."""
    models = {turn.seat: turn.usage.model for turn in debate.turns if is_of_client(turn.usage.model)}
    names = sorted({*models.values()})
    if len(names) <= 1 or len(models) <= 1:
        return []
    seats = format_seats(sorted(models))
    return [f"One client's own model answered for {seats}, as {', '.join(names)}: count it as one voice."]


def is_of_client(model: str) -> bool:
    """Whether a client has reported this name for its own model."""
    return model.partition("/")[0] == CLIENT


def fallback_lines(debate: Debate) -> list[str]:
    """Which models answered for a seat instead of its own, and from which round on."""
    lines = []
    for seat, own in seat_models(debate.setup).items():
        lost = find_failover_round(debate, seat, own)
        if lost == math.inf:
            continue
        later = (reply for reply in debate.answers if reply.seat == seat and reply.round >= lost)
        # A resumed debate tries the seat's own model again. Providers add dates to names.
        models = dict.fromkeys(reply.usage.model for reply in later)
        others = [model for model in models if not model.startswith(own)]
        if others:
            lines.append(f"{', '.join(others)} answered for {seat} ({own}) from round {lost} on.")
    return lines


def describe_failed_models(debate: Debate) -> str:
    """How many models answered and how the others failed, in a sentence; "" if all answered in the end."""
    failing = Counter((f.model, f.cause) for f in debate.failures if f.model)
    failed = {model for model, _ in failing if not has_answered(debate, model)}
    if not failed:
        return ""
    models = {*seat_models(debate.setup).values(), *failed} - WRITTEN
    models |= {replaced.model for replaced in debate.find_interventions(ModelReplaced)} - WRITTEN
    models |= {model for model in debate.setup.fallback_models if has_answered(debate, model)}
    causes = [
        f"{model} {CAUSE_TEXTS[cause]} {format_count(times, 'time')}"
        for (model, cause), times in failing.items()
        if model in failed
    ]
    answered = len(models) - len(failed)
    return f"{answered} of {format_count(len(models), 'model')} answered: {'; '.join(causes)}."


def has_answered(debate: Debate, model: str) -> bool:
    """Whether a model gave any answer, under its own name or another one, such as a dated one.

    The answers of a seat count for its own model up to the round in which a fallback model took over.
    """
    seats = [seat for seat, own in seat_models(debate.setup).items() if own == model]
    until = {seat: find_failover_round(debate, seat, model) for seat in seats}
    return any(r.usage.model == model or r.round < until.get(r.seat, 0) for r in debate.answers)


def find_failover_round(debate: Debate, seat: str, model: str) -> float:
    """The first round in which a seat's own model failed for good; infinity if the seat has no other."""
    if candidate_models(debate, seat) == (model,):
        return math.inf
    # A late model is called again in the next round, without a fallback.
    failures = [f for f in debate.failures if (f.seat, f.model) == (seat, model) and f.cause != "late"]
    rounds = {f.round for f in failures}
    lost = (n for n in rounds if has_final_failure([f for f in failures if f.round == n]))
    return min(lost, default=math.inf)


def find_skip_warnings(debate: Debate) -> list[str]:
    """What it took, and what was left out, where the talk was skipped."""
    if not debate.skipped:
        return []
    asked, whole = len(debate.usage), count_expected_answers(debate)
    return [
        f"The talk was skipped: {format_count(asked, 'answer')} in place of about {whole}, and no argument was tested."
    ]


def has_uninformative_decision(debate: Debate) -> bool:
    """Whether a model that is too small to decide took part in the decision."""
    decisions = (
        *debate.judgments,
        *debate.round_summaries,
        *chain.from_iterable(debate.votes),
        debate.deliverable,
    )
    return any(decision is not None and not decision.informative for decision in decisions)


def find_setup_warnings(setup: Opened, family_count: int) -> list[str]:
    """What a caller should know before spending money. `family_count`: model families that debate."""
    row = FORMATS.get(setup.format)  # None for a format of another release
    warnings = []
    if row and setup.max_rounds > row.warn_above_rounds:
        warnings.append(
            f"{setup.max_rounds} rounds: above {row.warn_above_rounds}, models tend to drift towards agreement "
            "and cost grows faster than insight."
        )
    if (count := len(setup.debaters)) >= MANY_DEBATERS:
        warnings.append(
            f"{count} debaters: {MANY_DEBATERS} or more overwhelm a single moderator or judge, who loses "
            "track of who answered whom. Group them, or debate in parts."
        )
    talk = [phase.name for phase in setup.phases if phase.is_talk and not phase.closes_talk]
    if unreached := talk[setup.max_rounds :]:
        rounds = "1 round is" if setup.max_rounds == 1 else f"{setup.max_rounds} rounds are"
        warnings.append(f"{rounds} too few for every phase: {', '.join(unreached)} left out.")
    warnings += filter(None, [describe_reading(setup), describe_client_requests(setup)])
    if misfits := find_misfits(setup):
        warnings.append(f"Prompts will be cut: {'; '.join(misfits)}. What reads only a part is marked.")
    elif outgrown := find_outgrown_windows(setup):
        warnings.append(f"Later prompts may not fit: {'; '.join(outgrown)}. Such calls fail.")
    if setup.forked_restanced:
        warnings.append(describe_stance_changes(setup))
    warnings += describe_recalled(setup)
    if problem := describe_framing_problem(setup):
        warnings.append(problem)
    if not verdict_source(setup):
        ending = "with the synthesizer's result and no verdict" if setup.synthesizer else "without a verdict"
        warnings.append(f"No phase decides the debate: it ends {ending}.")
    if family_count == 1 and any(debater.model not in WRITTEN for debater in setup.debaters):
        warnings.append(
            "All debaters are of one model family: their errors are alike, so agreement says less. "
            "Models of two or more families make a better debate."
        )
    return warnings


def describe_client_requests(setup: Opened) -> str:
    """How often the own model of a client is asked, if the talk does not end early and every answer is usable."""
    models = seat_models(setup)
    if CLIENT not in models.values():
        return ""
    count = sum(models.get(seat) == CLIENT for wave in plan_waves(Debate(setup)) for seat in wave.seats)
    requests = format_count(count, "request")
    return f"Your client's own model gets about {requests}; it may ask you to approve each."


def describe_stance_changes(setup: Opened) -> str:
    names = ", ".join(setup.forked_restanced)
    return f"Up to round {setup.forked_at_round}, {names} argued for another stance, before the fork."
