"""What a chosen team is worth, on simulated ledgers with planted skill, topics and common errors.

    python -m benchmarks team [DRAWS [RUNS]]

Prints two tables. Of teams that are chosen once, after so many settled items that every model answered, how often
pooled beliefs and counted votes are right, as means of DRAWS ledgers. Of teams that are chosen one debate after the
other, where only those chosen answer, how often pooled beliefs are right, as means of RUNS sequences, with what the
best teams would have been right more often in all of their debates together.
"""

from collections.abc import Sequence

from benchmarks.recorded.teams import choices, sequences

DRAWS, RUNS = 1_000, 60


def main(arguments: Sequence[str]) -> None:
    draws, runs = (*map(int, arguments), *(DRAWS, RUNS)[len(arguments) :])
    print(choices.build_table(draws), sequences.build_table(runs), sep="\n\n")
