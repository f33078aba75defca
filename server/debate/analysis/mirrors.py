"""What the mirror of a debate says: whether it agrees, and how much position and debater affected the votes."""

from fractions import Fraction
from typing import Annotated, assert_never

from pydantic import BaseModel, Field

from server.debate.facts.escalation import EscalationEvent, MirrorHeld, MirrorOpened, MirrorSkipped
from server.debate.facts.quoting import quote_heading
from server.debate.state.debate import Debate
from server.debate.votes.panel import Comparison, compare_mirror


def is_none(effect: float | None) -> bool:
    return effect is None


class MirrorReport(BaseModel):
    """The debate held again with the stances swapped; empty without a mirror. Margins go from -3 to 3."""

    debate_id: str = ""
    agrees: Annotated[bool, Field(description="The same position is ahead in it; false without one")] = False
    position_effect: float | None = Field(default=None, exclude_if=is_none)  # half the sum of both margins
    debater_effect: float | None = Field(default=None, exclude_if=is_none)  # half their difference
    told: Annotated[str, Field(description="The whole of it, or why there is none")] = ""


def build_mirror_report(debate: Debate) -> MirrorReport:
    opening, comparison = debate.mirror_opened, compare_mirror(debate)
    debate_id = opening.debate_id if opening else ""
    if comparison is None:
        event = debate.mirror if isinstance(debate.mirror, MirrorSkipped) else opening
        return MirrorReport(debate_id=debate_id, told=describe_escalation(event) if event else "")
    is_known = not find_other_texts(debate)
    return MirrorReport(
        debate_id=debate_id,
        agrees=comparison.agrees,
        position_effect=round(float(comparison.position_effect), 2) if is_known else None,
        debater_effect=round(float(comparison.debater_effect), 2) if is_known else None,
        told=describe_comparison(debate, comparison),
    )


def describe_comparison(debate: Debate, comparison: Comparison) -> str:
    """The comparison in sentences: what the mirror found, and how much of the margin stayed with the position."""
    stance = quote_heading(debate.debater(comparison.side).stance)
    if comparison.agrees:
        head = "The mirror agrees"
    elif comparison.is_reversed:
        head = f"The mirror reversed it: {comparison.mirror_ahead}'s position was ahead there"
    else:
        leader = f"{comparison.mirror_ahead}'s position" if comparison.mirror_ahead else "nobody"
        head = f"In the mirror {leader} was ahead"
    margins = (
        f"{head}. Margin for {stance}: {format_margin(comparison.margin)} as {comparison.side} argued it, "
        f"{format_margin(comparison.mirror_margin)} as another did"
    )
    if other := find_other_texts(debate):
        return f"{margins}, of 3; what position and debater count for is unknown: {other}."
    return (
        f"{margins}; position {format_margin(comparison.position_effect)}, "
        f"debater {format_margin(comparison.debater_effect)}, of 3."
    )


def find_other_texts(debate: Debate) -> str:
    """What beside the stances is not the same in the mirror; "" where nothing is. Then effects can be told apart."""
    own_texts = {(debater.role, debater.system_prompt) for debater in debate.setup.debaters}
    if len(own_texts) > 1:
        return "debaters have roles or prompts of their own"
    if any(intervention.steers for intervention in debate.interventions):
        return "the debate was steered, and its mirror was not"
    return "it was forked with other stances" if debate.setup.forked_restanced else ""


def format_margin(margin: Fraction) -> str:
    return f"{float(margin):+.2f}"


def describe_escalation(event: EscalationEvent) -> str:
    """Work beyond the debate itself, in a sentence."""
    match event:
        case MirrorOpened():
            before = "" if event.because == "request" else " before it counts as decided"
            return f"The mirror is held{before}: debate {event.debate_id}, with the stances swapped."
        case MirrorHeld():
            return f"The mirror, debate {event.debate_id}, was held; its votes count too."
        case MirrorSkipped():
            return f"No mirror counts: {event.reason.rstrip('.')}."
        case _:
            assert_never(event)


def describe_added_work(debate: Debate) -> str:
    """Work under way beyond the debate itself, in a sentence; "" for none."""
    is_under_way = not (debate.ended or debate.mirror)
    return describe_escalation(debate.mirror_opened) if is_under_way and debate.mirror_opened else ""
