"""What the mirror of a debate says: whether it agrees, and what position and debater did to the votes."""

from fractions import Fraction
from typing import Annotated, assert_never

from pydantic import BaseModel, ConfigDict, Field

from server.debate.facts.escalation import (
    EscalationEvent,
    JudgesAdded,
    MirrorHeld,
    MirrorOpened,
    MirrorSkipped,
)
from server.debate.facts.quoting import quote_heading
from server.debate.facts.text import format_count
from server.debate.state.debate import Debate
from server.debate.votes.panel import Comparison, compare_mirror


class MirrorReport(BaseModel):
    """The debate held again with the stances swapped; empty where it was not. Margins go from -3 to 3."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    debate_id: str = ""
    agrees: Annotated[bool, Field(description="The same position is ahead in it; false without one")] = False
    position_effect: Annotated[float, Field(description="Half the sum of both margins")] = 0.0
    debater_effect: Annotated[float, Field(description="Half their difference")] = 0.0
    told: Annotated[str, Field(description="The whole of it, or why there is none")] = ""


def build_mirror_report(debate: Debate) -> MirrorReport:
    opened, compared = debate.mirror_opened, compare_mirror(debate)
    debate_id = opened.debate_id if opened else ""
    if compared is None:
        return MirrorReport(debate_id=debate_id, told=describe_missing_mirror(debate))
    return MirrorReport(
        debate_id=debate_id,
        agrees=compared.agrees,
        position_effect=round(float(compared.position_effect), 2),
        debater_effect=round(float(compared.debater_effect), 2),
        told=describe_comparison(debate, compared),
    )


def describe_missing_mirror(debate: Debate) -> str:
    """Why no mirror counts; "" where none was wanted."""
    if isinstance(debate.mirror, MirrorSkipped):
        return f"No mirror counts: {debate.mirror.reason.rstrip('.')}."
    return describe_escalation(debate.mirror_opened) if debate.mirror_opened else ""


def describe_comparison(debate: Debate, found: Comparison) -> str:
    """The comparison in sentences: what the mirror found, and how much of the margin stayed with the position."""
    stance = quote_heading(debate.debater(found.side).stance)
    if found.agrees:
        head = "The mirror agrees"
    elif found.is_reversed:
        head = f"The mirror reversed it: {found.mirror_ahead}'s position was ahead there"
    else:
        who = f"{found.mirror_ahead}'s position" if found.mirror_ahead else "nobody"
        head = f"In the mirror {who} was ahead"
    return (
        f"{head}. Margin for {stance}: {format_margin(found.margin)} as {found.side} argued it, "
        f"{format_margin(found.mirror_margin)} as another did; position {format_margin(found.position_effect)}, "
        f"debater {format_margin(found.debater_effect)}, of 3."
    )


def format_margin(margin: Fraction) -> str:
    return f"{float(margin):+.2f}"


def describe_escalation(event: EscalationEvent) -> str:
    """What is asked beyond the debate itself, in a sentence."""
    match event:
        case JudgesAdded():
            added = format_count(len(event.models), "judge")
            return f"The judges leave it open: {added} more ({', '.join(event.models)})."
        case MirrorOpened():
            because = "" if event.because == "request" else f" because the votes are {event.because}"
            return f"The mirror is held{because}: debate {event.debate_id}, with the stances swapped."
        case MirrorHeld():
            return f"The mirror, debate {event.debate_id}, was held; its votes count too."
        case MirrorSkipped():
            return f"No mirror counts: {event.reason.rstrip('.')}."
        case _:
            assert_never(event)


def describe_added_work(debate: Debate) -> str:
    """What is asked now beyond the debate itself, in a sentence; "" for nothing."""
    if debate.ended:
        return ""
    if debate.mirror_opened and not debate.mirror:
        return describe_escalation(debate.mirror_opened)
    if debate.judges_added and debate.verdict is None:
        return describe_escalation(debate.judges_added[-1])
    return ""
