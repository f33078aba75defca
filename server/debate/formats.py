"""The formats: ways of debating, as rows of one table. Nothing else in the code names a format."""

from dataclasses import dataclass

from server.debate.events import Phase


@dataclass(frozen=True, slots=True)
class Format:
    """What a format stands for where the caller says nothing else."""

    name: str
    summary: str
    phases: tuple[Phase, ...]
    rounds: int  # rounds of talk; the judges come after them
    warn_above: int  # more rounds than this are allowed, and advised against
    most_rounds: int
    both_orders: bool
    quorum: int = 2  # fewer voices than this in a round, and the debate pauses


VERDICT = Phase(name="verdict", asks="judges", order="together")

FORMATS: dict[str, Format] = {
    row.name: row
    for row in (
        Format(
            name="second_opinion",
            summary="Openings, then rebuttals, each written without seeing the others' of the same round; "
            "then judges who read the debate in both orders.",
            phases=(
                Phase(name="opening", asks="debaters", order="together"),
                Phase(name="rebuttal", asks="debaters", order="together", repeats=True),
                VERDICT,
            ),
            rounds=2,
            warn_above=3,
            most_rounds=4,
            both_orders=True,
        ),
        Format(
            name="verdict",
            summary="Every debater speaks every round in the order declared and answers those before; "
            "then a judge reads an anonymous, shuffled record once.",
            phases=(
                Phase(name="argumentation", asks="debaters", order="declared", repeats=True),
                VERDICT,
            ),
            rounds=2,
            warn_above=4,
            most_rounds=20,
            both_orders=False,
        ),
    )
}


def diagram(format: Format) -> str:  # noqa: A002  (the field's own word)
    """The phases of a format as a line of text, for people and for the documentation."""
    steps = []
    for phase in format.phases:
        who = "judges" if phase.asks == "judges" else "debaters, " + phase.order
        steps.append(f"{phase.name} ({who}{', each further round' if phase.repeats else ''})")
    return " -> ".join(steps)
