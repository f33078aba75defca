"""What a caller should know of a debate before spending money on it."""

from server.debate.commands.formats import FORMATS
from server.debate.commands.positions import describe_framing_problem
from server.debate.facts.config import CALLER
from server.debate.facts.events import Opened
from server.debate.rules.schedule import verdict_source
from server.debate.rules.windows import find_misfits, find_outgrown_windows

MANY_DEBATERS = 10


def find_setup_warnings(setup: Opened, family_count: int) -> list[str]:
    """What a caller should know before spending money. `family_count`: model families that debate."""
    row = FORMATS.get(setup.format)  # None for a format of another release
    warnings = []
    if row and setup.max_rounds > row.warn_above_rounds:
        warnings.append(
            f"{setup.max_rounds} rounds: above {row.warn_above_rounds}, models tend to drift towards agreement "
            "and cost grows faster than insight."
        )
    if (count := len(setup.debaters)) >= MANY_DEBATERS:
        warnings.append(
            f"{count} debaters: {MANY_DEBATERS} or more overwhelm a single moderator or judge, who loses "
            "track of who answered whom. Group them, or debate in parts."
        )
    talk = [phase.name for phase in setup.phases if phase.is_talk and not phase.closes_talk]
    if unreached := talk[setup.max_rounds :]:
        rounds = "1 round is" if setup.max_rounds == 1 else f"{setup.max_rounds} rounds are"
        warnings.append(f"{rounds} too few for every phase: {', '.join(unreached)} left out.")
    if misfits := find_misfits(setup):
        warnings.append(f"Prompts will be cut: {'; '.join(misfits)}. What reads only a part is marked.")
    elif outgrown := find_outgrown_windows(setup):
        warnings.append(f"Later prompts may not fit: {'; '.join(outgrown)}. Such calls fail.")
    if setup.forked_restanced:
        warnings.append(describe_stance_changes(setup))
    if problem := describe_framing_problem(setup):
        warnings.append(problem)
    if not verdict_source(setup):
        ending = "with the synthesizer's result and no verdict" if setup.synthesizer else "without a verdict"
        warnings.append(f"No phase decides the debate: it ends {ending}.")
    if family_count == 1 and any(debater.model != CALLER for debater in setup.debaters):
        warnings.append(
            "All debaters are of one model family: their errors are alike, so agreement says less. "
            "Models of two or more families make a better debate."
        )
    return warnings


def describe_stance_changes(setup: Opened) -> str:
    names = ", ".join(setup.forked_restanced)
    return f"Up to round {setup.forked_at_round}, {names} argued for another stance, before the fork."
