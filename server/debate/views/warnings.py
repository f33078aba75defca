"""What a caller should know: before spending money, about failures, and about what weakens the verdict."""

import math
from collections import Counter
from itertools import chain
from typing import Any

from server.debate.answer.debates import list_next_phases
from server.debate.commands.setup.debaters import describe_framing_problem, describe_same_stance
from server.debate.commands.setup.formats import FORMATS
from server.debate.documents.digests import describe_reading, list_reading_cautions
from server.debate.documents.evidence import describe_lost_quotes
from server.debate.facts.answers import PredicateLost, PromptFunctionsLost, Usage
from server.debate.facts.causes import PROVIDER_CAUSES, FailureCause
from server.debate.facts.events import Failed, PositionsFramed, RoundOpened, Spoke
from server.debate.facts.interventions import ModelReplaced
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import CLIENT, EMBEDDED, WRITER, WRITTEN
from server.debate.facts.text import format_count, join_names
from server.debate.rules.pauses import unify_details
from server.debate.rules.plan import plan_waves
from server.debate.rules.schedule import has_final_failure
from server.debate.rules.windows import find_outgrown_windows
from server.debate.seats.registry import SEATS
from server.debate.state.debate import Debate, name_judge
from server.debate.state.seats import candidate_models, find_kind, seat_models
from server.debate.views.names import name_debate
from server.debate.views.provenance import name_signer
from server.debate.votes.voters import verdict_source

MANY_DEBATERS = 10

CAUSE_TEXTS: dict[FailureCause, str] = {
    "empty": "gave an empty answer",
    "unreadable": "gave no usable answer",
    "thought_too_long": "thought for longer than it may",
    "timeout": "timed out",
    "late": "was too late",
    "rate_limited": "was rate-limited",
    "unavailable": "could not be reached",
    "unauthorized": "refused the key or its account",
    "bad_request": "refused the request",
    "too_long": "cannot read so long a prompt",
    "truncated": "was shown only a part of the prompt",
    "refused": "refused to answer",
    "crashed": "crashed",
}
"""How a model failed to answer, by cause."""


def failure_lines(debate: Debate) -> list[str]:
    """A line for each kind of failure of a seat, with how often it happened; one for each failure of a provider."""
    debate = name_debate(debate)
    failures: list[tuple[str, str, str]] = []
    for f, detail in unify_details(debate, debate.failures):
        model = "" if f.model in detail else f" ({f.model})"
        failures.append((f"{f.seat}{model}", f.cause, detail))
    failures += [(f.seat, "hand-off", f.detail) for f in debate.handoff_failures]
    for research in debate.research:
        failures += [
            (research.seat, "research", f"{f.tool}: {f.failed}") for f in research.lookups if f.failed
        ]
    by_cause: dict[tuple[str, str], Counter[str]] = {}
    for seat, cause, detail in failures:
        by_cause.setdefault((cause, detail), Counter())[seat] += 1
    lines = []
    for (cause, detail), seats in by_cause.items():
        is_one = cause in PROVIDER_CAUSES
        counts = {join_names(seats): seats.total()} if is_one else seats
        lines += [
            f"{who}: {detail} ({cause}{f', {times} times' if times > 1 else ''})"
            for who, times in counts.items()
        ]
    return lines


def list_verdict_warnings(debate: Debate) -> list[str]:
    """What a reader must know to weigh the verdict."""
    warnings = list_partial_readings(debate)
    models = dict.fromkeys(turn.usage.model for turn in debate.turns)
    if len(models) == 1 and WRITTEN.isdisjoint(models):
        warnings.append(f"One model argued every side ({next(iter(models))}): count it as one voice.")
    warnings += list_judging_warnings(debate, set(models) - WRITTEN)
    warnings += list_caller_warnings(debate)
    warnings += list_failure_warnings(debate)
    warnings += list_unpaid_phases(debate)
    warnings += fallback_lines(debate)
    if lost_choices := len(debate.handoff_failures):
        choices = format_count(lost_choices, "choice")
        warnings.append(f"{choices} of the next speaker could not be used; who spoke was drawn.")
    if lost_quotes := describe_lost_quotes(debate, debate.verdict.winner if debate.verdict else ""):
        warnings.append(lost_quotes)
    warnings += list_reading_cautions(debate)
    warnings += [caution for seat in SEATS for caution in seat.list_cautions(debate)]
    if predicate := debate.predicate_lost:
        warnings.append(describe_lost_predicate(predicate))
    warnings += [*describe_recalled(debate.setup), *describe_reused(debate)]
    if functions := debate.prompt_functions_lost:
        warnings.append(describe_lost_functions(functions))
    if debate.setup.forked_restanced:
        warnings.append(describe_stance_changes(debate.setup))
    if problem := describe_framing_problem(debate.setup):
        warnings.append(problem)
    if cut_turns := sum(turn.cut for turn in debate.turns):
        warnings.append(f"Cut at the length limit: {format_count(cut_turns, 'turn')}.")
    return warnings


def list_recalled(setup: Opened) -> list[dict[str, Any]]:
    """The earlier debates that seats were told about."""
    fields = {"debate_id", "head", "at", "recorded_elsewhere", "signed_by", "used_retracted", "withdrawn"}
    return [earlier.model_dump(include=fields) for earlier in (setup.memory.recalled if setup.memory else ())]


def describe_recalled(setup: Opened) -> list[str]:
    """Which earlier debates seats were told about, who recorded them, and which were withdrawn since."""
    if not (setup.memory and setup.memory.recalled):
        return []
    recalled = setup.memory.recalled
    sentences = ["Seats were told what earlier debates concluded: {}.".format(", ".join(setup.memory.ids))]
    foreign_ones = [
        f"{earlier.debate_id} (signed by {name_signer(earlier.signed_by)})"
        for earlier in recalled
        if earlier.recorded_elsewhere
    ]
    sentences += [f"Recorded elsewhere, and adopted here: {', '.join(foreign_ones)}."] if foreign_ones else []
    withdrawals = [
        f"{earlier.debate_id} was {earlier.withdrawn}" for earlier in recalled if earlier.withdrawn
    ]
    withdrawals += [
        f"{earlier.debate_id} recalled one that was retracted"
        for earlier in recalled
        if earlier.used_retracted
    ]
    return sentences + ([f"Of these, {join_names(withdrawals)} since."] if withdrawals else [])


def describe_reused(debate: Debate) -> list[str]:
    """How many answers come from other debates."""
    answer_count = sum(bool(usage.reused_from) for usage in debate.usage)
    mirror_turns = debate.mirror.spent.reused_turns if debate.mirror else 0
    parts = [format_count(answer_count, "answer")] if answer_count else []
    parts += [f"{format_count(mirror_turns, 'turn')} of the mirror"] if mirror_turns else []
    return [f"Reused from other debates: {' and '.join(parts)}. All votes are new."] if parts else []


def list_partial_readings(debate: Debate) -> list[str]:
    """Who was shown only a part of a prompt, a sentence for each seat. Such a decision is not counted."""
    worst: dict[tuple[str, bool], Usage] = {}
    for fact in (*debate.answers, *debate.failures):
        if fact.usage and fact.usage.sent_tokens:
            key = (fact.seat, isinstance(fact, Failed))
            worst[key] = max(worst.get(key, fact.usage), fact.usage, key=lambda usage: usage.sent_tokens)
    return [
        f"{seat} ({usage.model}) was shown only a part: {usage.input_tokens:,} of at least {usage.sent_tokens:,} "
        f"tokens.{' What it found is not counted.' if is_failure else ''}"
        for (seat, is_failure), usage in worst.items()
    ]


def describe_lost_predicate(event: PredicateLost) -> str:
    subject = "The condition in code that could end the talk (terminate_when)"
    return f"{subject} was lost with its process: from round {event.round} on it was not asked."


def describe_lost_functions(event: PromptFunctionsLost) -> str:
    subject = "The functions in code that write prompts were lost with their process"
    return f"{subject}: from round {event.round} on seats were told what these had written before."


def list_judging_warnings(debate: Debate, debating: set[str]) -> list[str]:
    """What weakens the decision itself. `debating`: the models that argued."""
    warnings = []
    if has_uninformative_decision(debate):
        warnings.append(
            "The embedded model judged. It is far too small for that: its choice means nothing and is not "
            "counted. Read the arguments, or judge again with a larger model."
        )
    models: dict[str, set[str]] = {}
    for seat, model in {(reply.seat, reply.usage.model) for reply in debate.answers}:
        models.setdefault(find_kind(debate.setup, seat), set()).add(model)
    if (judging := models.get("judges")) and judging <= debating:
        warnings.append(
            f"The {name_judge(debate.setup)}s' models also debated, and models lean towards their own words."
        )
    if models.get("moderator", set()) & debating:
        warnings.append("The moderator's model also debated, and models lean towards their own words.")
    orders = {debate.round_phase(number).order for number in {turn.round for turn in debate.turns}}
    if orders and "together" not in orders and verdict_source(debate.setup) == "judges":
        warnings.append("Debaters spoke only one after the other: what was said last could not be answered.")
    return warnings


def list_caller_warnings(debate: Debate) -> list[str]:
    """Sentences if a caller wrote several sides, or judged its own words. The author's name tells callers apart."""
    sides_by_author: dict[str, set[str]] = {}
    decisions_by_author: dict[str, set[str]] = {}
    for answer in debate.answers:
        if answer.usage.model in WRITTEN and not isinstance(answer, PositionsFramed | RoundOpened):
            by_author = sides_by_author if isinstance(answer, Spoke) else decisions_by_author
            by_author.setdefault(answer.usage.author, set()).add(answer.seat)
    warnings = list_client_warnings(debate)
    for author, sides in sides_by_author.items():
        if len(sides) > 1:
            warnings.append(f"One caller wrote for {join_names(sorted(sides))}: count it as one voice.")
        if seats := decisions_by_author.get(author, set()) - sides:
            roles = f"{join_names(sorted(sides))}, and was {join_names(sorted(seats))}"
            warnings.append(f"One caller wrote for {roles}: it judged its own words.")
    return warnings


def list_client_warnings(debate: Debate) -> list[str]:
    """A sentence if a client's own model argued for several sides under different names, which the client reports."""
    turns = (turn for turn in debate.turns if turn.usage.model.partition("/")[0] == CLIENT)
    models = {turn.seat: turn.usage.model for turn in turns}
    names = sorted({*models.values()})
    if len(names) <= 1:
        return []
    seats = join_names(sorted(models))
    return [f"One client's own model answered for {seats}, as {', '.join(names)}: count it as one voice."]


def fallback_lines(debate: Debate) -> list[str]:
    """Which models answered in place of a seat's own model, and from which round on."""
    lines = []
    for seat, seat_model in seat_models(debate.setup).items():
        failover_round = find_failover_round(debate, seat, seat_model)
        if failover_round == math.inf:
            continue
        later = (reply for reply in debate.answers if reply.seat == seat and reply.round >= failover_round)
        # A resumed debate tries the seat's own model again. Providers add dates to names.
        models = dict.fromkeys(reply.usage.model for reply in later)
        fallback_models = [model for model in models if not model.startswith(seat_model)]
        if fallback_models:
            lines.append(
                f"{', '.join(fallback_models)} answered for {seat} ({seat_model}) from round {failover_round} on."
            )
    return lines


def list_unpaid_phases(debate: Debate) -> list[str]:
    """What a second opinion still wanted when it ended, for which its limits did not pay."""
    left = [phase.name for phase in list_next_phases(debate)] if debate.ended else []
    return [f"The limits did not pay for this: {', '.join(left)}."] if left else []


def list_failure_warnings(debate: Debate) -> list[str]:
    """What never came: in the answer format each with its reason, else how many answers, and models that gave none.

    What came when it was asked for again is no loss.
    """
    lost = {
        (failure.round, failure.seat, failure.slot_index): failure.detail
        for failure in name_debate(debate).failures
    }
    for fact in debate.answers:
        lost.pop((fact.round, fact.seat, fact.slot_index), None)
    if debate.setup.answering:
        told = {describe_missing_advice(debate, slot): detail for slot, detail in lost.items()}
        return [f"{what}: {detail}" for what, detail in told.items()]
    parts = [f"{format_count(len(lost), 'answer')} failed; see failures."] if lost else []
    parts += filter(None, [describe_failed_models(debate)])
    return [" ".join(parts)] if parts else []


def describe_missing_advice(debate: Debate, slot: tuple[int, str, int]) -> str:
    """Who did not do what, and what follows from that. `slot`: its round, seat and index."""
    number, seat, index = slot
    task = debate.round_phase(number).wants
    what = debate.round_phase(number).name.replace("_", " ")
    is_checked = any(phase.wants == "check" for phase in debate.setup.phases)
    follows = {
        "exchange": "what it advised before counts",
        "report": f"the server composed the answer of the reviews{', and nobody checked it' * is_checked}",
        "check": "nobody has checked the answer",
    }.get(task, "")
    if task == "check" and seat == WRITER:
        what, follows = "second report", "what the check found stands under Corrected"
    if task == "report" and index:
        what, follows = "second report", "the first one stands, without all that reviews want kept"
    return f"{seat[:1].upper()}{seat[1:]} gave no {what}{f' ({follows})' if follows else ''}"


def describe_failed_models(debate: Debate) -> str:
    """How many models answered and how the others failed, in a sentence; "" if all answered in the end."""
    failing = Counter((f.model, f.cause) for f in debate.failures if f.model)
    failed_models = {model for model, _ in failing if not has_answered(debate, model)}
    if not failed_models:
        return ""
    models = {*seat_models(debate.setup).values(), *failed_models} - WRITTEN
    models |= {intervention.model for intervention in debate.find_interventions(ModelReplaced)} - WRITTEN
    models |= {model for model in debate.setup.fallback_models if has_answered(debate, model)}
    causes = [
        f"{model} {CAUSE_TEXTS[cause]} {format_count(times, 'time')}"
        for (model, cause), times in failing.items()
        if model in failed_models
    ]
    answered_count = len(models) - len(failed_models)
    return f"{answered_count} of {format_count(len(models), 'model')} answered: {'; '.join(causes)}."


def has_answered(debate: Debate, model: str) -> bool:
    """Whether a model gave any answer, under its own name or a variant, such as a dated one.

    The answers of a seat count for its own model until the round in which a fallback model took over.
    """
    seats = [seat for seat, seat_model in seat_models(debate.setup).items() if seat_model == model]
    until = {seat: find_failover_round(debate, seat, model) for seat in seats}
    return any(r.usage.model == model or r.round < until.get(r.seat, 0) for r in debate.answers)


def find_failover_round(debate: Debate, seat: str, model: str) -> float:
    """The first round in which a seat's own model failed for good; infinity if it never did, or has no fallback."""
    if candidate_models(debate, seat) == (model,):
        return math.inf
    # A late model is called again in the next round, without a fallback.
    failures = [f for f in debate.failures if (f.seat, f.model) == (seat, model) and f.cause != "late"]
    rounds = {f.round for f in failures}
    failed_rounds = (n for n in rounds if has_final_failure([f for f in failures if f.round == n]))
    return min(failed_rounds, default=math.inf)


def has_uninformative_decision(debate: Debate) -> bool:
    """Whether a model that is too small to decide took part in the decision."""
    decisions = (
        *debate.judgments,
        *debate.round_summaries,
        *chain.from_iterable(debate.votes),
        debate.deliverable,
    )
    return any(decision is not None and not decision.informative for decision in decisions)


def list_setup_warnings(setup: Opened, family_count: int) -> list[str]:
    """What a caller should know before spending money. `family_count`: of the models that debate."""
    most_rounds, warnings = FORMATS[setup.format].warn_above_rounds, []
    if setup.max_rounds > most_rounds:
        warnings.append(
            f"{setup.max_rounds} rounds: above {most_rounds}, models tend to drift towards agreement "
            "and cost grows faster than insight."
        )
    if (count := len(setup.debaters)) >= MANY_DEBATERS:
        warnings.append(
            f"{count} debaters: {MANY_DEBATERS} or more overwhelm a single moderator or judge, who loses "
            "track of who answered whom. Group them, or debate in parts."
        )
    talk = [phase.name for phase in setup.phases if phase.is_talk]
    if unreached_phases := talk[setup.max_rounds :]:
        rounds = "1 round is" if setup.max_rounds == 1 else f"{setup.max_rounds} rounds are"
        warnings.append(f"{rounds} too few for every phase: {', '.join(unreached_phases)} left out.")
    warnings += filter(None, [describe_reading(setup), describe_client_requests(setup)])
    if outgrown := find_outgrown_windows(setup):
        warnings.append(f"Later prompts may not fit: {'; '.join(outgrown)}. Such calls fail.")
    if setup.forked_restanced:
        warnings.append(describe_stance_changes(setup))
    warnings += describe_recalled(setup)
    warnings += filter(None, [describe_framing_problem(setup), describe_same_stance(setup)])
    if not verdict_source(setup):
        ending = "with the synthesizer's result and no verdict" if setup.synthesizer else "without a verdict"
        warnings.append(f"No phase decides the debate: it ends {ending}.")
    who, what = ("advisors", "answer") if setup.answering else ("debaters", "debate")
    if {debater.model for debater in setup.debaters} == {EMBEDDED}:
        warnings.append(
            "Only the embedded model takes part, which is far too small. For an answer that counts: "
            "counterpoint keys set anthropic (or openai, gemini …), or name a model."
        )
    elif family_count == 1 and any(debater.model not in WRITTEN for debater in setup.debaters):
        warnings.append(
            f"All {who} are from one model family: they make the same mistakes, so agreement counts for less. "
            f"Models of two or more families make a better {what}."
        )
    return warnings


def describe_client_requests(setup: Opened) -> str:
    """How often a client's own model is asked, if the talk does not end early and every answer is usable."""
    models = seat_models(setup)
    if CLIENT not in models.values():
        return ""
    waves = plan_waves(Debate(setup), fewest=setup.answering is None)
    count = sum(models.get(seat) == CLIENT for wave in waves for seat in wave.seats)
    requests = format_count(count, "request")
    return f"Your client's own model gets about {requests}; it may ask you to approve each."


def describe_stance_changes(setup: Opened) -> str:
    names = ", ".join(setup.forked_restanced)
    return f"Up to round {setup.forked_at_round}, {names} argued for another stance, before the fork."
