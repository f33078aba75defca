"""The table of formats, and the phases that formats and `options.phases` consist of.

No other code names a format, except the two for requests that name none (`requests`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Literal

from server.debate.facts.setup.options import BallotMode, Brief, CountingRule, StopMode
from server.debate.facts.setup.phases import Phase

KNOWN_PHASES = (
    Phase(name="opening", participants="debaters", order="together"),
    Phase(name="argumentation", participants="debaters", order="declared"),
    Phase(name="rebuttal", participants="debaters", order="together"),
    Phase(name="cross_examination", participants="debaters", order="together", wants="message"),
    Phase(name="discussion", participants="debaters", order="handoff"),
    Phase(name="synthesis", participants="debaters", order="together"),
    Phase(name="closing", participants="debaters", order="together"),
    Phase(name="voting", participants="debaters", order="together", wants="ballot"),
    Phase(name="audience_vote", participants="judges", order="together", wants="ballot"),
    Phase(name="verdict", participants="judges", order="together"),
    Phase(name="deliverable", participants="synthesizer", order="together"),
    Phase(name="answer", participants="debaters", order="together", wants="advice"),
    Phase(name="review", participants="debaters", order="together", wants="review"),
    Phase(name="exchange", participants="debaters", order="together", wants="exchange", repeats=True),
    Phase(name="report", participants="writer", order="together", wants="report"),
    Phase(name="check", participants="checker", order="together", wants="check"),
)
FINAL_BALLOTS = Phase(
    name="ballots", participants="debaters", order="together", wants="ballot", is_private=True
)
"""Where private ballots follow the talk, and no other phase does."""

BASELINE = Phase(name="baseline", participants="debaters", order="together", wants="ballot", is_baseline=True)
"""A vote of blind ballots for as many tokens as the debate used, at its end."""

PHASES = {phase.name: phase for phase in KNOWN_PHASES}

OFFERED_PHASES = ", ".join(phase.name for phase in KNOWN_PHASES if not phase.is_advice)
"""The phases that `options.phases` can name: all but those of the answer format."""


def choose_unique_name(name: str, previous: Sequence[Phase]) -> str:
    """The name; with a number if an earlier phase has it."""
    names = chain([name], (f"{name} {number}" for number in count(2)))
    return next(free for free in names if free not in [phase.name for phase in previous])


def list_phases(names: str, *, repeats: str) -> tuple[Phase, ...]:
    """Known phases in this order. The one that `repeats` names fills the remaining rounds."""
    phases: list[Phase] = []
    for name in names.split():
        changes = {"name": choose_unique_name(name, phases), "repeats": name == repeats}
        phases.append(PHASES[name].model_copy(update=changes))
    return tuple(phases)


@dataclass(frozen=True, slots=True)
class Format:
    """The phases of a format, and its defaults for what a request leaves out."""

    name: str
    hint: str  # when it is the right one, for those who choose
    summary: str
    phases: tuple[Phase, ...]
    default_rounds: int = 2  # of talk; judges and officers come after them
    warn_above_rounds: int = 4  # more rounds are allowed, with a warning
    max_allowed_rounds: int = 20
    default_debaters: tuple[tuple[str, str], ...] = (("Proponent", "for"), ("Opponent", "against"))
    brief: Brief = "advocate"
    requires_stances: bool = True  # False: a role is enough
    has_closing_moderator: bool = False  # it may settle the question
    counting: CountingRule | Literal[""] = ""  # makes the verdict; "" for the usual rule of its phases
    default_judges: int = 0  # of an audience; 0: as many as the effort allows
    default_turns: int = 0  # of the whole debate; 0: only rounds are limited
    ballots: BallotMode = "none"  # when debaters are asked in private
    stop: StopMode = "off"  # what happens when ballots no longer move
    max_turn_tokens: int = 0  # of the text of a turn; 0: computed from the words asked for

    @property
    def is_advice(self) -> bool:
        """Whether its debaters are advisors, who answer instead of arguing."""
        return self.phases[0].is_advice


FORMATS: dict[str, Format] = {
    row.name: row
    for row in (
        Format(
            name="second_opinion",
            hint="models answer independently and check each other and you; the default",
            summary="Models answer independently, check each other's answers as strangers', argue only where they "
            "differ, and one answer comes out.",
            phases=list_phases("answer review exchange report check", repeats="exchange"),
            default_rounds=1,
            warn_above_rounds=2,
            max_allowed_rounds=4,
            default_debaters=(),
            requires_stances=False,
        ),
        Format(
            name="advocates",
            hint="debaters argue sides, then judges; the default where debaters have stances",
            summary="Debaters with stances: openings, then rebuttals, each written without seeing the others' of "
            "the same round; then judges.",
            phases=list_phases("opening rebuttal verdict", repeats="rebuttal"),
            warn_above_rounds=3,
            max_allowed_rounds=4,
            ballots="blind",
            stop="on",
        ),
        Format(
            name="verdict",
            hint="debaters take turns, then one judge",
            summary="Every debater speaks every round in the order declared and answers those before; "
            "then a judge.",
            phases=list_phases("argumentation verdict", repeats="argumentation"),
        ),
        Format(
            name="settle",
            hint="a panel talks until its moderator calls it settled",
            summary="A moderator sums up each round and says whether the question is settled; the debate "
            "ends with that decision, or unsettled at the last round. Roles may replace stances.",
            phases=list_phases("argumentation", repeats="argumentation"),
            default_rounds=3,
            warn_above_rounds=6,
            brief="panel",
            requires_stances=False,
            ballots="blind",
            has_closing_moderator=True,
        ),
        Format(
            name="handoff",
            hint="each speaker chooses the next",
            summary="One speaker at a time, who chooses the next; a round is one turn. Then a judge.",
            phases=list_phases("discussion verdict", repeats="discussion"),
            default_rounds=10,
            warn_above_rounds=30,
            max_allowed_rounds=100,
            default_debaters=(("Proponent", "for"), ("Opponent", "against"), ("Neutral", "neutral")),
            default_turns=10,
            max_turn_tokens=500,
        ),
        Format(
            name="round_robin",
            hint="a panel with roles writes one result",
            summary="A panel speaks in the order declared, with roles instead of stances; a synthesizer "
            "writes one result instead of choosing a winner. A referee may audit the arguments.",
            phases=list_phases("argumentation deliverable", repeats="argumentation"),
            brief="panel",
            requires_stances=False,
            ballots="blind",
        ),
        Format(
            name="oxford",
            hint="an audience votes before and after",
            summary="An audience votes, the debaters argue, the audience votes again: the position "
            "that gained most wins. No movement, or a tie, is undecided.",
            phases=list_phases("audience_vote opening rebuttal audience_vote", repeats="rebuttal"),
            counting="swing",
            default_judges=3,
        ),
        Format(
            name="full",
            hint="all seven phases, the longest",
            summary="All seven phases: openings, argument in turn, rebuttals, questions and answers between "
            "debaters, common ground, a vote of the debaters, and judges.",
            phases=list_phases(
                "opening argumentation rebuttal cross_examination synthesis voting verdict",
                repeats="argumentation",
            ),
            default_rounds=6,
            warn_above_rounds=8,
            ballots="blind",
        ),
    )
}
