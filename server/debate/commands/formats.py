"""The formats: ways of debating, as rows of one table. Nothing else in the code names a format.

`PHASES` are the phases that formats, and callers with `options.phases`, are put together from.
"""

from dataclasses import dataclass

from server.debate.facts.config import Brief, Phase

PHASES: dict[str, Phase] = {
    phase.name: phase
    for phase in (
        Phase(name="opening", asks="debaters", order="together"),
        Phase(name="argumentation", asks="debaters", order="declared"),
        Phase(name="rebuttal", asks="debaters", order="together"),
        Phase(name="cross_examination", asks="debaters", order="together", wants="message"),
        Phase(name="discussion", asks="debaters", order="handoff"),
        Phase(name="synthesis", asks="debaters", order="together"),
        Phase(name="voting", asks="debaters", order="together", wants="ballot"),
        Phase(name="verdict", asks="judges", order="together"),
        Phase(name="deliverable", asks="synthesizer", order="together"),
    )
}


def phase(name: str, *, repeats: bool = False) -> Phase:
    return PHASES[name].model_copy(update={"repeats": repeats})


@dataclass(frozen=True, slots=True)
class Format:
    """What a format stands for where the caller says nothing else."""

    name: str
    summary: str
    phases: tuple[Phase, ...]
    rounds: int  # rounds of talk; who decides comes after them
    warn_above: int  # more rounds than this are allowed, and advised against
    most_rounds: int
    both_orders: bool = False
    debaters: tuple[tuple[str, str], ...] = (("Proponent", "for"), ("Opponent", "against"))
    brief: Brief = "advocate"
    stances: bool = True  # each debater must have one; else a role will do
    closes: bool = False  # a moderator closes each round and may settle the question
    turns: int = 0  # turns of the whole talk; 0 for as many as its rounds have
    turn_tokens: int = 2000  # a ceiling, with room for models that think first


FORMATS: dict[str, Format] = {
    row.name: row
    for row in (
        Format(
            name="second_opinion",
            summary="Openings, then rebuttals, each written without seeing the others' of the same round; "
            "then judges who read the debate in both orders.",
            phases=(phase("opening"), phase("rebuttal", repeats=True), phase("verdict")),
            rounds=2,
            warn_above=3,
            most_rounds=4,
            both_orders=True,
        ),
        Format(
            name="verdict",
            summary="Every debater speaks every round in the order declared and answers those before; "
            "then a judge reads an anonymous, shuffled record once.",
            phases=(phase("argumentation", repeats=True), phase("verdict")),
            rounds=2,
            warn_above=4,
            most_rounds=20,
        ),
        Format(
            name="settle",
            summary="A moderator sums up each round and says whether the question is settled; the debate "
            "ends with that decision, or unsettled at the last round. Roles will do in place of stances.",
            phases=(phase("argumentation", repeats=True),),
            rounds=3,
            warn_above=6,
            most_rounds=20,
            brief="panel",
            stances=False,
            closes=True,
        ),
        Format(
            name="handoff",
            summary="One speaker at a time, each of whom chooses the next; a round is a turn. Then a judge.",
            phases=(phase("discussion", repeats=True), phase("verdict")),
            rounds=10,
            warn_above=30,
            most_rounds=100,
            debaters=(("Proponent", "for"), ("Opponent", "against"), ("Neutral", "neutral")),
            turns=10,
            turn_tokens=500,
        ),
        Format(
            name="round_robin",
            summary="A panel speaks in the order declared, with roles in place of stances; a synthesizer "
            "makes one result of it in place of a winner. A referee may audit the arguments.",
            phases=(phase("argumentation", repeats=True), phase("deliverable")),
            rounds=2,
            warn_above=4,
            most_rounds=20,
            brief="panel",
            stances=False,
        ),
        Format(
            name="full",
            summary="All seven phases: openings, argument in turn, rebuttals, questions and answers between "
            "debaters, common ground, a vote of the debaters, and judges.",
            phases=(
                phase("opening"),
                phase("argumentation", repeats=True),
                phase("rebuttal"),
                phase("cross_examination"),
                phase("synthesis"),
                phase("voting"),
                phase("verdict"),
            ),
            rounds=6,
            warn_above=8,
            most_rounds=20,
            both_orders=True,
        ),
    )
}


def diagram(format: Format) -> str:  # noqa: A002  (the field's own word)
    """The phases of a format as a line of text, for people and for the documentation."""
    return " -> ".join(f"{row.name} ({asked(row, format)})" for row in format.phases)


def asked(row: Phase, format: Format) -> str:  # noqa: A002
    """Who is asked for what in a phase, and in what order."""
    if row.asks != "debaters":
        return row.asks
    told = "debaters"
    if row.wants == "message":
        told += ", each asks one and is answered"
    elif row.wants == "ballot":
        told += ", each votes alone"
    elif row.order == "handoff":
        told += ", each chooses the next"
    else:
        told += f", {row.order}"
    if row.repeats:
        told += ", each further round"
    if format.closes:
        told += "; the moderator closes and may settle it"
    return told
