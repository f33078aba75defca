"""Who is asked for what in a round, and in what order.

A round wants answers; each has its place (`Place`). The places stand in groups: those of a group are
asked at once, a group when everybody of the one before has answered or has been given up. Where
somebody chooses who speaks, the places follow from the choice, which is a fact of the debate.

    together     [A B C]
    declared     [A] [B] [C]
    moderated    [moderator opens] [the speakers chosen, one after the other, repeats allowed]
    handoff      [one speaker], who chooses the next round's
    messages     [A B C each write to one of the others] [each message is answered by whom it was for]
    ballots      [A B C]
    judges       [judge 1, judge 2 … each in one order or in both]
    synthesizer  [synthesizer]

After the turns of a round come, where there are such, [the referee] and [the moderator who closes it].
"""

from collections.abc import Sequence
from dataclasses import dataclass

from server.debate.facts.config import CALLER, MODERATOR, REFEREE, SYNTHESIZER, Phase
from server.debate.facts.events import Cause, Failed, Opened, Task
from server.debate.facts.state import Debate, judges

ASKED_AGAIN: frozenset[Cause] = frozenset({"empty", "unreadable"})
"""Bad replies, as opposed to failing providers: the same seat is asked once more, told what was wrong."""


@dataclass(frozen=True, slots=True)
class Place:
    """An answer that a round wants. (seat, number) names it within the round."""

    seat: str
    number: int  # a judge's reading, 1 or 2; which of its answers it is for the others, from 0
    task: Task
    to: str = ""  # whose message it answers

    @property
    def key(self) -> tuple[str, int]:
        return self.seat, self.number


Groups = tuple[tuple[Place, ...], ...]

CLOSING = Place(MODERATOR, 1, "closing")


def agenda(debate: Debate) -> Groups:
    """The places of this round, as far as they are settled."""
    phase = debate.phase
    if phase is None:
        return ()
    if phase.asks == "judges":
        return (readings(debate.setup),)
    if phase.asks == "synthesizer":
        return ((Place(SYNTHESIZER, 0, "deliverable"),),)
    if phase.wants == "ballot":
        return (tuple(Place(name, 0, "ballot") for name in debate.names),)
    if phase.wants == "message":
        spoken = examination(debate)
        return (*spoken, *reviews(debate.setup, spoken))
    return moderation(debate, phase)


def readings(setup: Opened) -> tuple[Place, ...]:
    numbers = (1, 2) if setup.judges.both_orders else (1,)
    return tuple(Place(judge, number, "judgment") for number in numbers for judge in judges(setup))


def examination(debate: Debate) -> Groups:
    """Messages, then their answers. An answer's number is its asker's, whatever order messages arrive in."""
    asking = tuple(Place(name, 0, "message") for name in debate.names)
    messages = [asked for asked, *_ in debate.exchanges_of(debate.round)]
    answers = tuple(
        Place(turn.to, 1 + debate.names.index(turn.seat), "answer", to=turn.seat) for turn in messages
    )
    return within_limit(debate, (asking, answers))


def moderation(debate: Debate, phase: Phase) -> Groups:
    """The turns of a round, with what the moderator and the referee do before and after them."""
    opening = ((Place(MODERATOR, 0, "opening"),),)
    if phase.order == "moderated" and debate.opening_of(debate.round) is None:
        return opening
    spoken = within_limit(debate, turns(debate, phase))
    before = opening if phase.order == "moderated" else ()
    return (*before, *spoken, *reviews(debate.setup, spoken))


def reviews(setup: Opened, spoken: Groups) -> Groups:
    """Who looks back on a round: the referee, where something was said, and the moderator."""
    audit = ((Place(REFEREE, 0, "audit"),),) if setup.referee and spoken else ()
    closes = setup.moderator is not None and setup.moderator.closes
    return (*audit, (CLOSING,)) if closes else audit


def turns(debate: Debate, phase: Phase) -> Groups:
    names = debate.names
    if phase.order == "together":
        return (tuple(Place(name, 0, "argument") for name in names),)
    if phase.order == "handoff":
        names = debate.rounds[-1].order
    if opening := debate.opening_of(debate.round):
        names = opening.next_speakers
    return tuple((Place(name, names[:index].count(name), "argument"),) for index, name in enumerate(names))


def within_limit(debate: Debate, groups: Groups) -> Groups:
    """As many of the places as the limit on turns leaves room for."""
    most = debate.max_turns
    if not most:
        return groups
    left = most - sum(turn.round < debate.round for turn in debate.turns)
    kept = []
    for group in groups:
        kept.append(group[: max(left, 0)])
        left -= len(group)
    return tuple(group for group in kept if group)


def places(debate: Debate) -> tuple[Place, ...]:
    return tuple(place for group in agenda(debate) for place in group)


def failures_of(debate: Debate, key: tuple[str, int]) -> tuple[Failed, ...]:
    """The failures of a place in this round that still count; resuming a paused debate forgives them."""
    return tuple(failure for failure in debate.missed if (failure.seat, failure.reading) == key)


def gave_up(debate: Debate, key: tuple[str, int]) -> bool:
    """Whether a place has failed for good in this round: its last model, and no other is left to ask."""
    failures = failures_of(debate, key)
    if not failures:
        return False
    if any(failure.cause == "late" for failure in failures):
        return True  # the others could not answer in time either
    nobody_left = all((key[0], model) in debate.gone for model in candidates(debate, key[0]))
    return nobody_left and final(failures)


def final(failures: Sequence[Failed]) -> bool:
    """Whether the model that failed last is done with: its provider failed, or it answered badly twice."""
    last = [failure for failure in failures if failure.model == failures[-1].model]
    return len(last) > 1 or last[-1].cause not in ASKED_AGAIN


def is_open(debate: Debate, place: Place) -> bool:
    """Whether this answer is missing and would still be taken."""
    return place.key not in debate.heard and not gave_up(debate, place.key)


def open_places(debate: Debate) -> tuple[Place, ...]:
    """The places whose answer is missing and whose turn it is."""
    if debate.ended:
        return ()
    for group in agenda(debate):
        if missing := tuple(place for place in group if is_open(debate, place)):
            return missing
    return ()


def decided_by(setup: Opened) -> str:
    """Who makes the verdict: judges, moderator, ballots; "" where the talk itself is the result."""
    if any(phase.asks == "judges" for phase in setup.phases):
        return "judges"
    if setup.moderator and setup.moderator.closes:
        return "moderator"
    return "ballots" if any(phase.wants == "ballot" for phase in setup.phases) else ""


def last_word(debate: Debate) -> tuple[Place, ...]:
    """The moderator's closing, where a talk that is being concluded still needs it."""
    phase = debate.phase
    if debate.ended or not (debate.concluding and debate.turns and phase and phase.is_talk):
        return ()
    return (CLOSING,) if decided_by(debate.setup) == "moderator" and is_open(debate, CLOSING) else ()


def talk_is_over(debate: Debate) -> bool:
    """Whether nobody will argue any more: what is left is to vote, to judge, to sum up."""
    phase = debate.phase
    if phase is None:
        return False
    here = debate.setup.phases.index(phase)
    over = debate.concluding or bool(debate.rounds[-1].because)
    return over or not any(later.is_talk for later in debate.setup.phases[here:])


def seated(setup: Opened) -> dict[str, str]:
    """Every seat with the model that it was given."""
    models = {debater.name: debater.model for debater in setup.debaters}
    models |= dict(zip(judges(setup), setup.judges.models, strict=True))
    officers = {MODERATOR: setup.moderator, REFEREE: setup.referee, SYNTHESIZER: setup.synthesizer}
    return models | {name: officer.model for name, officer in officers.items() if officer}


def candidates(debate: Debate, seat: str) -> tuple[str, ...]:
    """The models that a seat may be asked of, the first while it answers. The caller is nobody's fallback."""
    replaced = [made.model for made in debate.steering if made.action == "replace_model" and made.to == seat]
    own = replaced[-1] if replaced else seated(debate.setup)[seat]
    fallback = () if own == CALLER else debate.setup.fallback_models
    return tuple(dict.fromkeys((own, *fallback)))


def model_of(debate: Debate, seat: str) -> str:
    """The model that a seat is asked of now: the first that has not failed it, or its own again."""
    there = candidates(debate, seat)
    return next((model for model in there if (seat, model) not in debate.gone), there[0])
