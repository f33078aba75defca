"""The table of formats, and the phases that formats and `options.phases` consist of.

No other code names a format.
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
        Phase(name="audience_vote", participants="judges", order="together", wants="ballot"),
        Phase(name="verdict", participants="judges", order="together"),
        Phase(name="deliverable", participants="synthesizer", order="together"),
    )
}


def build_phase(name: str, *, repeats: bool = False, suffix: str = "") -> Phase:
    """A known phase; with a suffix where a format holds it twice."""
    return PHASES[name].model_copy(update={"repeats": repeats, "name": name + suffix})


@dataclass(frozen=True, slots=True)
class Format:
    """The phases of a format, and its defaults for what a request leaves out."""

    name: str
    summary: str
    phases: tuple[Phase, ...]
    default_rounds: int  # of talk; judges and officers come after them
    warn_above_rounds: int  # more rounds are allowed, with a warning
    max_allowed_rounds: int
    both_orders: bool = False
    default_debaters: tuple[tuple[str, str], ...] = (("Proponent", "for"), ("Opponent", "against"))
    brief: Brief = "advocate"
    requires_stances: bool = True  # False: a role is enough
    has_closing_moderator: bool = False  # it may settle the question
    counting: str = ""  # the rule that makes the verdict; "" for the usual one of its phases
    default_judges: int = 1  # where judges are asked
    default_turns: int = 0  # of the whole debate; 0: only rounds are limited
    max_turn_tokens: int = 2000  # leaves room for models that reason first


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
            "then a judge reads an anonymous, shuffled transcript once.",
            phases=(build_phase("argumentation", repeats=True), build_phase("verdict")),
            default_rounds=2,
            warn_above_rounds=4,
            max_allowed_rounds=20,
        ),
        Format(
            name="settle",
            summary="A moderator sums up each round and says whether the question is settled; the debate "
            "ends with that decision, or unsettled at the last round. Roles may replace stances.",
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
            summary="One speaker at a time, who chooses the next; a round is one turn. Then a judge.",
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
            summary="A panel speaks in the order declared, with roles instead of stances; a synthesizer "
            "writes one result instead of choosing a winner. A referee may audit the arguments.",
            phases=(build_phase("argumentation", repeats=True), build_phase("deliverable")),
            default_rounds=2,
            warn_above_rounds=4,
            max_allowed_rounds=20,
            brief="panel",
            requires_stances=False,
        ),
        Format(
            name="oxford",
            summary="An audience of judges votes, the debaters argue, the audience votes again: the position "
            "that gained most wins. No movement, or a tie, is undecided.",
            phases=(
                build_phase("audience_vote"),
                build_phase("opening"),
                build_phase("rebuttal", repeats=True),
                build_phase("audience_vote", suffix=" 2"),
            ),
            default_rounds=2,
            warn_above_rounds=4,
            max_allowed_rounds=20,
            counting="swing",
            default_judges=3,
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
    """The phases of a format as one line of text."""
    return " -> ".join(f"{phase.name} ({describe_phase(phase, format)})" for phase in format.phases)


def describe_phase(phase: Phase, format: Format) -> str:  # noqa: A002
    """Who takes part in a phase, doing what, in what order."""
    if phase.participants == "judges" and phase.wants == "ballot":
        return "audience of judges, each votes alone"
    if phase.participants != "debaters":
        return phase.participants
    description = "debaters, " + phase.order
    if phase.wants == "message":
        description = "debaters, each asks one and is answered"
    elif phase.wants == "ballot":
        description = "debaters, each votes alone"
    elif phase.order == "handoff":
        description = "debaters, each chooses the next"
    if phase.repeats:
        description += ", each further round"
    if format.has_closing_moderator:
        description += "; the moderator closes and may settle it"
    return description
