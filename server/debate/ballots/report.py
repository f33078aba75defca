"""What private ballots say: before the talk, after it, who moved, and whether the answer changed."""

from fractions import Fraction
from typing import Annotated, assert_never

from pydantic import BaseModel, Field

from server.debate.arguments.points import format_id
from server.debate.ballots.convergence import find_last_ballots, measure_movement
from server.debate.ballots.hollow import describe_alert
from server.debate.facts.answers import Measured
from server.debate.facts.beliefs import Alerted, Citation, Share, build_shares, find_choice
from server.debate.facts.events import Balloted, BallotEvent
from server.debate.facts.quoting import quote_heading
from server.debate.facts.text import format_count
from server.debate.state.debate import Debate

MOVED_AT_ALL = Fraction(1, 100)
"""Smaller movements are the rounding of a voter's own figures."""

MOST_LISTED = 12
"""Voters and positions in a verdict; views of rounds list all."""


class Beliefs(BaseModel):
    """What the debaters' models hold in private; empty without ballots."""

    before: list[str] = []
    after: list[str] = []
    moved: list[str] = []
    against_public: Annotated[list[str], Field(description="Who does not hold what it argued")] = []
    changed: Annotated[str, Field(description="What they hold likeliest, by the talk: yes, no, empty")] = ""


def find_blind_ballots(debate: Debate) -> dict[str, Balloted]:
    """The debaters' ballots from before the talk, by seat; {} if their stances have changed since."""
    if debate.setup.forked_restanced:
        return {}
    first_round = min(debate.talk_rounds, default=debate.round + 1)
    cast = [b for b in debate.ballots if b.wave == "blind" or (b.wave == "vote" and b.round < first_round)]
    return {b.seat: b for b in cast if b.seat in debate.names and b.informative}


def build_beliefs(debate: Debate) -> Beliefs:
    before, after = find_blind_ballots(debate), find_last_ballots(debate)
    repeat_voters = [name for name in debate.names if name in before and name in after]
    moved = [name for name in repeat_voters if measure_movement(before[name], after[name]) >= MOVED_AT_ALL]
    private = [name for name in debate.names if name in after and after[name].choice not in ("", name)]
    return Beliefs(
        before=list_shares(debate, before),
        after=list_shares(debate, after),
        moved=[describe_move(before[name], after[name]) for name in moved[:MOST_LISTED]],
        against_public=private[:MOST_LISTED],
        changed=compare_answers(debate, before, after),
    )


def compare_answers(debate: Debate, before: dict[str, Balloted], after: dict[str, Balloted]) -> str:
    """Whether the position that all voters together hold likeliest has changed; "" where that is unknown."""
    if not (before and after):
        return ""
    return "no" if find_choice(pool(debate, before)) == find_choice(pool(debate, after)) else "yes"


def list_disagreements(debate: Debate, ahead: str) -> list[str]:
    """The side that the debaters' models hold likelier in private, where that is another than the one ahead."""
    waves = {"before": find_blind_ballots(debate), "after": find_last_ballots(debate)}
    times: dict[str, list[str]] = {}
    for when, ballots in waves.items():
        choice = find_choice(pool(debate, ballots)) if ballots else ""
        if ahead and choice not in ("", ahead):
            times.setdefault(choice, []).append(when)
    return [
        f"In private, {' and '.join(when)} the talk, the debaters' models thought {choice}'s position the likeliest."
        for choice, when in times.items()
    ]


def pool(debate: Debate, ballots: dict[str, Balloted]) -> tuple[Share, ...]:
    """The mean of all debaters' beliefs. A debater without a ballot counts as holding everything equally likely."""
    names = (*debate.names, "")
    uniform_share = Fraction(len(debate.names) - len(ballots), len(names))
    amounts = dict.fromkeys(names, uniform_share)
    for ballot in ballots.values():
        for share in ballot.beliefs:
            amounts[share.name] += share.value
    return build_shares(amounts)


def list_shares(debate: Debate, ballots: dict[str, Balloted]) -> list[str]:
    """The pooled belief in each position and the votes for it, the likeliest first; [] without ballots."""
    if not ballots:
        return []
    choices = [ballot.choice for ballot in ballots.values()]
    by_belief = sorted(pool(debate, ballots), key=lambda share: -share.value)
    return [
        f"{share.name or 'none'} {float(share.value):.2f} ({format_count(choices.count(share.name), 'vote')})"
        for share in by_belief[:MOST_LISTED]
    ]


def describe_move(before: Balloted, after: Balloted) -> str:
    """From where to where a voter moved, how far, and why."""
    by = f"{float(measure_movement(before, after)):.2f}"
    cause = describe_cause(before, after)
    where = f"from {describe_side(before.choice)} to {describe_side(after.choice)}"
    if before.choice == after.choice:
        where = f"within {describe_side(after.choice)}"
    return f"{after.seat} moved {where} by {by}{f', because of {cause}' if cause else ''}"


def describe_cause(before: Balloted, after: Balloted) -> str:
    """What moved a voter, in its own words; or that another model answered."""
    if before.usage.model != after.usage.model:
        return f"another model: {after.usage.model}"
    return describe_citation(after.moved_by) if after.moved_by else ""


def describe_citation(cited: Citation) -> str:
    return f"[{format_id(cited, cited.seat)}]" if cited.point else f"{cited.seat}, round {cited.round}"


def describe_side(choice: str) -> str:
    return choice or "no side"


def describe_ballot(ballot: Balloted) -> str:
    """A ballot in a line, with the voter's own words between quotation marks."""
    belief = max(share.value for share in ballot.beliefs)
    verb = "votes for" if ballot.wave == "vote" else "is privately for"
    sure = f" ({float(belief * 100):.0f}%)" if ballot.choice else ""
    moved = f", moved by {describe_citation(ballot.moved_by)}" if ballot.moved_by else ""
    return (
        f"{ballot.seat} {verb} {describe_side(ballot.choice)}{sure}{moved}: {quote_heading(ballot.position)}"
    )


def describe_measurement(measurement: Measured) -> str:
    """How alike the positions of voters are, pair by pair."""
    pairs = (f"{pair.one} and {pair.other} {pair.value}" for pair in measurement.similarities)
    return f"Similarity of what all hold in private, by {measurement.usage.model}: {', '.join(pairs)}."


def describe_ballot_event(debate: Debate, event: BallotEvent) -> str:
    """The fact that ballots end the talk, or say that agreement may be hollow, in a sentence with the figures."""
    if isinstance(event, Alerted):
        return describe_alert(event)
    percent = f"{float(Fraction(event.belief) * 100):.0f}%"
    match event.why:
        case "alike":
            similarity = f" (similarity {event.similarity} or more)" if event.similarity else ""
            why = f"all choose {event.leader} in private, and hold it alike by the {event.by}{similarity}"
        case "sure":
            why = f"all together hold {event.leader} likely at {percent}, and nobody names an open point"
        case "unmoved":
            why = f"no voter moved by more than {event.movement}, and nobody names anything new"
        case _:
            assert_never(event.why)
    ends = "The talk ends" if debate.setup.stop == "on" else "The block ends"
    return f"{ends} after round {event.round}: {why}."


def list_belief_lines(beliefs: Beliefs, between: str = "the talk") -> list[str]:
    """What was held before and after something, in lines; [] where nothing is known."""
    lines = [
        f"{when} {between}: {'; '.join(shares)}"
        for when, shares in (("before", beliefs.before), ("after", beliefs.after))
        if shares
    ]
    lines += beliefs.moved
    if beliefs.changed:
        lines += [] if beliefs.moved else ["nobody moved"]
        lines.append(f"the talk changed what they hold likeliest: {beliefs.changed}")
    if beliefs.against_public:
        lines.append(f"in private not for what they argued: {', '.join(beliefs.against_public)}")
    return lines
