"""Interventions: what a caller can change in a running debate, and when the change takes effect."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import ValidationError

from server.debate.ballots.waves import is_debaters_vote, is_talk_over
from server.debate.commands.requests import LimitsInput, build_limits
from server.debate.commands.setup.voting import build_weights, parse_fraction
from server.debate.facts import interventions
from server.debate.facts.causes import PAUSED_ON_REQUEST
from server.debate.facts.errors import InvalidRequestError, require, require_length
from server.debate.facts.events import Event, Paused, PhaseEntered, Resumed
from server.debate.facts.setup.limits import Limits, Price, check_prices_known
from server.debate.facts.setup.seats import FRAMER
from server.debate.facts.text import clean, clean_line, format_count
from server.debate.rules.advance import advance
from server.debate.rules.budget import NO_ELAPSED_TIME, ElapsedTime, compute_remaining, find_round_shortfall
from server.debate.rules.calls import due_slots
from server.debate.rules.decide import is_unattended
from server.debate.rules.pauses import build_fallback_round_plan, find_quorum_shortfall
from server.debate.rules.transitions import replay
from server.debate.rules.windows import describe_misfit, estimate_prompt
from server.debate.state.debate import Debate
from server.debate.state.seats import candidate_models, seat_models
from server.debate.votes.voters import find_voters

OUTCOME, NOBODY = "outcome", "none"
"""The action for which the debate has to be over, and its word for no position."""

AT_ANY_TIME = ("tag", "untag")
MOST_TAGS = 20
MAX_TAG_LENGTH = 60

MAX_NOTE_LENGTH = 8_000
MAX_NOTES = 500
MAX_REASON_LENGTH = 1_000
MAX_NOTES_LENGTH = 200_000  # characters, of all notes of a debate
MAX_EXTENSION_ROUNDS = 20  # at a time


@dataclass(frozen=True, slots=True)
class InterventionRequest:
    """The parameters of an action; each action uses its own (`HANDLERS`)."""

    text: str = ""
    to: str = ""  # a debater, or any seat, by action
    reason: str = ""
    rounds: int = 0
    round: int = 0
    model: str = ""
    price: Price | None = None  # of that model
    window: int = 0  # of that model, in tokens; 0 where unknown
    weights: Mapping[str, str | float] = field(default_factory=dict)
    threshold: str = ""
    limits: Mapping[str, Any] = field(default_factory=dict)  # the ones to change, as in options.limits
    elapsed: ElapsedTime = NO_ELAPSED_TIME
    request_id: str = ""  # a repeat has the same
    is_stepped: bool = (
        False  # the debate came with a file: whatever its set-up says, it runs when it is stepped
    )


class Intervention(NamedTuple):
    events: tuple[Event, ...]
    effect: str


Change = tuple[list[Event], str]  # the events of an action, and when they take effect


def build_intervention(debate: Debate, action: str, request: InterventionRequest) -> Intervention:
    """Return the events of an action, and a sentence that says when they take effect.

    Raises:
        InvalidRequestError: the action is not possible in this debate now.
    """
    if debate.ended and action not in (OUTCOME, *AT_ANY_TIME):
        over = f"The debate is over ({debate.ended.ending})."
        raise InvalidRequestError(
            f"{over} Call fork_debate to try it otherwise, or call get_verdict for the finding."
        )
    require(action in HANDLERS, f"There is no action {action[:40]!r}. Actions: {', '.join(ACTIONS)}.")
    events, effect = HANDLERS[action].build(debate, request)
    made: dict[str, Any] = {"request_id": request.request_id}
    if reason := clean(request.reason):
        made["reason"] = reason
    if action not in ("pause", "resume"):
        made["round"] = debate.round
    return Intervention(tuple(event.model_copy(update=made) for event in events), effect)


def pause(debate: Debate, _: InterventionRequest) -> Change:
    if debate.paused:
        raise InvalidRequestError(f"The debate is paused already: {debate.paused.reason}")
    effect = "Answers in flight are kept; nothing more is asked until it is resumed."
    return [Paused(reason=PAUSED_ON_REQUEST)], effect


def resume(debate: Debate, request: InterventionRequest) -> Change:
    require(debate.paused, "The debate is not paused. Call step_round to go on.")
    later = "with the next step_round, or at once where answers are on their way"
    when = "at once" if is_unattended(debate) and not request.is_stepped else later
    return [Resumed()], f"It goes on {when}; seats that failed in this round are asked again."


def inject(debate: Debate, request: InterventionRequest) -> Change:
    check_note(debate, request, is_for_debaters=bool(request.to))
    event = interventions.NoteAdded(**check_text(debate, request, "inject"))
    return [event], f"{event.to or 'Everybody'} reads it with every question put from now on."


def challenge(debate: Debate, request: InterventionRequest) -> Change:
    check_note(debate, request, is_for_debaters=True)
    event = interventions.Challenged(**check_text(debate, request, "challenge"))
    who = event.to or "Every debater"
    effect = f"{who} is to answer it in the next turn, if one is left; everybody reads it in the record."
    return [event], effect


def check_note(debate: Debate, request: InterventionRequest, *, is_for_debaters: bool) -> None:
    phases, phase = debate.setup.phases, debate.phase
    if request.to:
        check_framed(debate)
        check_known(request.to, debate.names, "Debaters")
    if phase is None or not is_talk_over(debate):
        return
    is_cut_short = debate.is_concluding and phase.is_talk
    require(is_cut_short, "The talk is over, and notes are for those who talk. Call get_verdict.")
    later = phases[phases.index(phase) + 1 :]
    vote = any(map(is_debaters_vote, later))
    problem = "The talk is being concluded, and no debater is asked for anything more."
    require(vote or not is_for_debaters, f"{problem} A note for all, with inject, is read by who decides.")


def instruct(debate: Debate, request: InterventionRequest) -> Change:
    if request.to:
        check_framed(debate)
        check_known(request.to, find_seats(debate), "Seats")
    event = interventions.InstructionGiven(**check_text(debate, request, "instruct"))
    return [event], f"{request.to or 'Every seat'} follows it from the next round on."


def check_framed(debate: Debate) -> None:
    problem = (
        "Who debates is not known before the positions are named. Call step_round first, or leave `to` out."
    )
    require(not debate.setup.needs_framing, problem)


def find_seats(debate: Debate) -> list[str]:
    """The seats that will be asked: the framer before the debaters are known, then everybody else."""
    if debate.setup.needs_framing:
        return [seat for seat in seat_models(debate.setup) if seat not in debate.names]
    return [seat for seat in seat_models(debate.setup) if seat != FRAMER]


def check_known(name: str, known: Iterable[str], kind: str) -> None:
    require(name in known, f"Nobody here is called {name[:60]!r}. {kind}: {', '.join(known)}.")


def check_text(debate: Debate, request: InterventionRequest, action: str) -> dict[str, str]:
    """The fields of an intervention that consists of a text. Prompts repeat all of them: their sum has a limit."""
    text = clean(request.text)
    require(text, f"There is nothing to {action}. Pass it in `text`.")
    require_length("The text has", len(text), MAX_NOTE_LENGTH)
    earlier = debate.find_interventions(interventions.TextIntervention)
    require(len(earlier) < MAX_NOTES, f"The debate has {MAX_NOTES} notes, the most that are allowed.")
    total = sum(len(note.text) for note in earlier) + len(text)
    require_length("All notes together have", total, MAX_NOTES_LENGTH, "Say less, or begin another debate.")
    return {"text": text, "to": request.to}


def conclude(debate: Debate, _: InterventionRequest) -> Change:
    if debate.mirror_opened and not debate.mirror:
        return [
            interventions.TalkConcluded()
        ], "The verdict follows without the mirror, which makes no more calls."
    require(not is_talk_over(debate), "The talk is over already. Call get_verdict.")
    first = "Resume it with intervene first." if debate.paused else "Call step_round first."
    require(debate.turns, f"Nobody has spoken yet: there is nothing to judge. {first}")
    effect = "Turns in flight are kept; then it is decided on what is there."
    return [interventions.TalkConcluded()], effect


def extend(debate: Debate, request: InterventionRequest) -> Change:
    """Add rounds, change limits, or both, with an event for each."""
    events: list[Event] = []
    effects = []
    if request.rounds or not request.limits:
        hint = (
            f"Pass `rounds`: how many more, 1 to {MAX_EXTENSION_ROUNDS}; or `limits`, as in options.limits."
        )
        require(1 <= request.rounds <= MAX_EXTENSION_ROUNDS, hint)
        hint = "The talk is over: it cannot be extended. Fork the debate, or start another."
        require(not is_talk_over(debate), hint)
        here = debate.setup.phases.index(debate.phase) if debate.phase else 0
        can_repeat = any(phase.repeats for phase in debate.setup.phases[here:])
        require(can_repeat, "No phase to come repeats, so that more rounds would change nothing.")
        events.append(interventions.RoundsExtended(rounds=request.rounds))
        more, most = format_count(request.rounds, "round"), debate.max_rounds + request.rounds
        effects.append(f"{more} more, {most} in all, from the next round on.")
    if request.limits:
        events.append(interventions.LimitsChanged(limits=build_new_limits(debate, request.limits)))
        if reason := find_budget_shortfall(replay(events, debate), request.elapsed):
            effects.append(f"The new limits leave no room for another question ({reason}).")
        else:
            effects.append("The new limits are in force from the next question on.")
            effects += ["Resume the debate now."] if debate.paused else []
    return events, " ".join(effects)


def build_new_limits(debate: Debate, changes: Mapping[str, Any]) -> Limits:
    """The limits in force, updated with the requested ones."""
    known = ", ".join(Limits.model_fields)
    for name in changes:
        is_known = name in Limits.model_fields
        require(is_known, f"limits.{name[:60]} is none that can be changed. There are: {known}.")
    try:
        requested = build_limits(LimitsInput.model_validate(dict(changes)))
    except ValidationError as error:
        name = str(error.errors(include_url=False)[0]["loc"][0])
        amount = "a number of US dollars above 0, at most 1,000,000"
        shapes = {"max_cost_usd": amount, "on_budget": "conclude or pause"}
        shape = shapes.get(name, "a whole number above 0, and not beyond all measure")
        raise InvalidRequestError(f"limits.{name} must be {shape}.") from None
    limits = debate.limits.model_copy(update=requested.model_dump(include=set(changes)))
    models = [model for seat in seat_models(debate.setup) for model in candidate_models(debate, seat)]
    check_prices_known(limits, models, debate.prices)
    return limits


def find_uncounted_voters(debate: Debate) -> tuple[str, ...]:
    """The seats whose votes make the verdict, while their votes are not counted yet."""
    voters = find_voters(debate.setup)
    require(voters, "No votes are counted in this debate, so that there is nothing to weigh.")
    require(not debate.verdict, "There is a verdict: the votes were counted. Fork the debate instead.")
    return voters


def set_weights(debate: Debate, request: InterventionRequest) -> Change:
    voters = find_uncounted_voters(debate)
    if set(voters) & set(debate.names):
        check_framed(debate)
    require(request.weights, f"Pass `weights`: a fraction for each voter. Voters: {', '.join(voters)}.")
    for name in request.weights:
        check_known(name, voters, "Voters")
    weights = build_weights({name: str(value) for name, value in request.weights.items()}, "weights")
    event = interventions.WeightsChanged(weights=weights)
    return [event], "Votes are counted so when the verdict is made."


def set_threshold(debate: Debate, request: InterventionRequest) -> Change:
    find_uncounted_voters(debate)
    share = parse_fraction(request.threshold, "threshold", maximum=1)
    event = interventions.ThresholdChanged(threshold=str(share))
    of = "cast votes'" if debate.voting and debate.voting.of == "cast" else "votes'"
    effect = f"A position prevails with {share} of the {of} weight or more, when the verdict is made."
    return [event], effect


def replace_model(debate: Debate, request: InterventionRequest) -> Change:
    check_known(request.to, find_seats(debate), "Seats")
    model = request.model.strip()
    require(model, "Pass `model`: the name of the model that is to take the seat.")
    check_prices_known(debate.limits, [model], filter(None, (*debate.prices, request.price)))
    misfit = describe_misfit(model, request.window, estimate_prompt(debate), debate.setup.max_turn_tokens)
    problem = f"The debate is too long for it: {misfit}. Choose a model with a larger window."
    require(not misfit or debate.setup.on_window == "warn", problem)
    event = interventions.ModelReplaced(
        seat=request.to, model=model, price=request.price, window=request.window
    )
    effect = f"{request.to} uses it from the next question on, and again where it failed in this round."
    return [event], f"{effect} An answer in flight is kept."


def retract(debate: Debate, request: InterventionRequest) -> Change:
    turns = [turn for turn in debate.turns if turn.seat == request.to]
    left = [turn.slot_index for turn in turns if turn.round == request.round and debate.is_active(turn)]
    spoken = ", ".join(str(number) for number in sorted({turn.round for turn in turns}))
    hint = f"; it spoke in round {spoken}." if turns else "."
    missing = f"There is no turn of {request.to[:60]!r} in round {request.round} to retract."
    require(left, f"{missing} Pass `to` and `round`{hint}")
    is_judged = debate.phase and not debate.phase.is_talk and debate.verdict
    require(not is_judged, "The verdict was made with that turn. Fork the debate to judge without it.")
    event = interventions.TurnRetracted(seat=request.to, turn_round=request.round, slot_index=left[-1])
    return [event], "It is struck through, and left out of every prompt from now on."


def record_outcome(debate: Debate, request: InterventionRequest) -> Change:
    problem = "The debate is not over: what turns out right is recorded afterwards. Call get_verdict."
    require(debate.ended, problem)
    require(not debate.setup.needs_framing, "No positions were named, so that none can turn out right.")
    origin = debate.setup.mirror_of
    require(not origin, f"It is the mirror of {origin}: record the outcome there, and it counts for both.")
    truth, reason = find_position(debate, request.to), clean(request.reason)
    require_length("The reason has", len(reason), MAX_REASON_LENGTH)
    before = debate.outcome
    if before and (before.truth, before.reason) == (truth, reason):
        return [], "That outcome is recorded already."
    recorded = "It replaces the one recorded before" if before else "It is recorded"
    learnt = "what the ledger learns from it counts in debates that begin from now on"
    if debate.reused_turn_count:
        learnt = "the ledger learns nothing from it, since turns are those of another debate"
    effect = f"{recorded}; {learnt}."
    return [interventions.OutcomeRecorded(truth=truth)], effect


def find_position(debate: Debate, text: str) -> str:
    """The debater that a name or a stance is of; "" for "none"."""
    wanted, debaters = normalize(text), debate.setup.debaters
    found = [debater.name for debater in debaters if normalize(debater.name) == wanted]
    found = found or [debater.name for debater in debaters if wanted and normalize(debater.stance) == wanted]
    positions = "; ".join(f"{debater.name} ({debater.stance})" for debater in debaters)
    problem = "Pass in `to` who turned out right: a debater, the stance of one, or none."
    require(len(found) == 1 or wanted == NOBODY, f"{problem} Positions: {positions}.")
    return found[0] if found else ""


def normalize(text: str) -> str:
    return clean_line(text).rstrip(".").casefold()


def tag(debate: Debate, request: InterventionRequest) -> Change:
    tags = parse_tags(debate, request.text)
    new = tuple(name for name in tags if name not in debate.tags)
    for name in new:
        require_length("A tag has", len(name), MAX_TAG_LENGTH)
    count = len(debate.tags) + len(new)
    require(count <= MOST_TAGS, f"A debate has {MOST_TAGS} tags at most, and these would make {count}.")
    if not new:
        return [], "It has these tags already."
    return [interventions.Tagged(tags=new)], f"It is found under {', '.join(new)} from now on."


def untag(debate: Debate, request: InterventionRequest) -> Change:
    tags = parse_tags(debate, request.text)
    held = tuple(name for name in tags if name in debate.tags)
    own = f"Its tags: {', '.join(debate.tags)}." if debate.tags else "It has no tags."
    require(held == tags, f"It has no tag {next((t for t in tags if t not in held), '')[:60]!r}. {own}")
    return [interventions.Untagged(tags=held)], f"It no longer has {', '.join(held)}."


def parse_tags(debate: Debate, text: str) -> tuple[str, ...]:
    """Tags, one a line, or several with commas between them where the line is no tag of the debate itself."""
    lines = [clean_line(line) for line in text.splitlines()]
    split = [[line] if line in debate.tags else map(clean_line, line.split(",")) for line in lines]
    found = tuple(dict.fromkeys(name for names in split for name in names if name))
    require(found, "Pass in `text` the tags, with commas between them.")
    return found


class Handler(NamedTuple):
    build: Callable[[Debate, InterventionRequest], Change]
    parameters: tuple[str, ...] = ()  # the fields of a request that it uses, besides `reason`


HANDLERS: dict[str, Handler] = {
    "pause": Handler(pause),
    "resume": Handler(resume),
    "inject": Handler(inject, ("text", "to")),
    "challenge": Handler(challenge, ("text", "to")),
    "instruct": Handler(instruct, ("text", "to")),
    "conclude": Handler(conclude),
    "extend": Handler(extend, ("rounds", "limits")),
    "weights": Handler(set_weights, ("weights",)),
    "threshold": Handler(set_threshold, ("threshold",)),
    "replace_model": Handler(replace_model, ("to", "model")),
    "retract": Handler(retract, ("to", "round")),
    OUTCOME: Handler(record_outcome, ("to",)),
    "tag": Handler(tag, ("text",)),
    "untag": Handler(untag, ("text",)),
}
ACTIONS = tuple(HANDLERS)
TEXT_ACTIONS = tuple(name for name, handler in HANDLERS.items() if "text" in handler.parameters)
HOOK_ACTIONS = tuple(
    name for name, handler in HANDLERS.items() if {*handler.parameters} <= {"text", "to"} and name != OUTCOME
)
"""The actions that need nothing but words, so that a hook can be configured to make them, while a debate runs."""


def find_budget_shortfall(debate: Debate, elapsed: ElapsedTime) -> str:
    """Why the budget does not allow another call, or not the round that would begin now; "" where it does."""
    remaining = compute_remaining(debate, elapsed)
    if not remaining.calls:
        return remaining.reason
    if find_quorum_shortfall(debate) or due_slots(debate) or build_fallback_round_plan(debate):
        return ""
    following = advance(debate, None)[-1]
    return find_round_shortfall(debate, following, elapsed) if isinstance(following, PhaseEntered) else ""
