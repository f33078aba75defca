"""The formats: ways of debating, as rows of one table. Nothing else in the code names a format.

`PHASES` are the phases that formats, and callers with `options.phases`, are put together from.
"""

from dataclasses import dataclass

from server.debate.facts.config import Brief, Phase

PHASES: dict[str, Phase] = {
    phase.name: phase
    for phase in (
        Phase(name="opening", participants="debaters", order="together"),
        Phase(name="argumentation", participants="debaters", order="declared"),
        Phase(name="rebuttal", participants="debaters", order="together"),
        Phase(name="cross_examination", participants="debaters", order="together", wants="message"),
        Phase(name="discussion", participants="debaters", order="handoff"),
        Phase(name="synthesis", participants="debaters", order="together"),
        Phase(name="voting", participants="debaters", order="together", wants="ballot"),
        Phase(name="verdict", participants="judges", order="together"),
        Phase(name="deliverable", participants="synthesizer", order="together"),
    )
}


def build_phase(name: str, *, repeats: bool = False) -> Phase:
    return PHASES[name].model_copy(update={"repeats": repeats})


@dataclass(frozen=True, slots=True)
class Format:
    """What a format stands for where the caller says nothing else."""

    name: str
    summary: str
    phases: tuple[Phase, ...]
    default_rounds: int  # rounds of talk; who decides comes after them
    warn_above_rounds: int  # more rounds than this are allowed, and advised against
    max_allowed_rounds: int
    both_orders: bool = False
    default_debaters: tuple[tuple[str, str], ...] = (("Proponent", "for"), ("Opponent", "against"))
    brief: Brief = "advocate"
    requires_stances: bool = True  # each debater must have one; else a role will do
    has_closing_moderator: bool = False  # a moderator closes each round and may settle the question
    default_turns: int = 0  # turns of the whole talk; 0 for as many as its rounds have
    max_turn_tokens: int = 2000  # a ceiling, with room for models that think first


FORMATS: dict[str, Format] = {
    row.name: row
    for row in (
        Format(
            name="second_opinion",
            summary="Openings, then rebuttals, each written without seeing the others' of the same round; "
            "then judges who read the debate in both orders.",
            phases=(build_phase("opening"), build_phase("rebuttal", repeats=True), build_phase("verdict")),
            default_rounds=2,
            warn_above_rounds=3,
            max_allowed_rounds=4,
            both_orders=True,
        ),
        Format(
            name="verdict",
            summary="Every debater speaks every round in the order declared and answers those before; "
            "then a judge reads an anonymous, shuffled record once.",
            phases=(build_phase("argumentation", repeats=True), build_phase("verdict")),
            default_rounds=2,
            warn_above_rounds=4,
            max_allowed_rounds=20,
        ),
        Format(
            name="settle",
            summary="A moderator sums up each round and says whether the question is settled; the debate "
            "ends with that decision, or unsettled at the last round. Roles will do in place of stances.",
            phases=(build_phase("argumentation", repeats=True),),
            default_rounds=3,
            warn_above_rounds=6,
            max_allowed_rounds=20,
            brief="panel",
            requires_stances=False,
            has_closing_moderator=True,
        ),
        Format(
            name="handoff",
            summary="One speaker at a time, each of whom chooses the next; a round is a turn. Then a judge.",
            phases=(build_phase("discussion", repeats=True), build_phase("verdict")),
            default_rounds=10,
            warn_above_rounds=30,
            max_allowed_rounds=100,
            default_debaters=(("Proponent", "for"), ("Opponent", "against"), ("Neutral", "neutral")),
            default_turns=10,
            max_turn_tokens=500,
        ),
        Format(
            name="round_robin",
            summary="A panel speaks in the order declared, with roles in place of stances; a synthesizer "
            "makes one result of it in place of a winner. A referee may audit the arguments.",
            phases=(build_phase("argumentation", repeats=True), build_phase("deliverable")),
            default_rounds=2,
            warn_above_rounds=4,
            max_allowed_rounds=20,
            brief="panel",
            requires_stances=False,
        ),
        Format(
            name="full",
            summary="All seven phases: openings, argument in turn, rebuttals, questions and answers between "
            "debaters, common ground, a vote of the debaters, and judges.",
            phases=(
                build_phase("opening"),
                build_phase("argumentation", repeats=True),
                build_phase("rebuttal"),
                build_phase("cross_examination"),
                build_phase("synthesis"),
                build_phase("voting"),
                build_phase("verdict"),
            ),
            default_rounds=6,
            warn_above_rounds=8,
            max_allowed_rounds=20,
            both_orders=True,
        ),
    )
}


def render_phase_diagram(format: Format) -> str:  # noqa: A002  (the field's own word)
    """The phases of a format as a line of text, for people and for the documentation."""
    return " -> ".join(f"{row.name} ({describe_phase(row, format)})" for row in format.phases)


def describe_phase(phase: Phase, format: Format) -> str:  # noqa: A002
    """Who is asked for what in a phase, and in what order."""
    if phase.participants != "debaters":
        return phase.participants
    told = "debaters"
    if phase.wants == "message":
        told += ", each asks one and is answered"
    elif phase.wants == "ballot":
        told += ", each votes alone"
    elif phase.order == "handoff":
        told += ", each chooses the next"
    else:
        told += f", {phase.order}"
    if phase.repeats:
        told += ", each further round"
    if format.has_closing_moderator:
        told += "; the moderator closes and may settle it"
    return told
