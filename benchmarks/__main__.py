"""Measure the performance goals. Never a test: a missed goal is printed, and the exit code is 0.

Usage: python -m benchmarks [ROW ...]
       python -m benchmarks write [ROW ...]      also puts the table into docs/performance.md
       python -m benchmarks compare OLD NEW [--repeats N] [ROW ...]
       python -m benchmarks soak [--minutes N] [--debates N] [--turns N] [--at-once N]
       python -m benchmarks arms [--repeats N] [--questions N]
       python -m benchmarks labels FILE.csv
       python -m benchmarks judges LLMBAR.csv [BELIEFS.csv]
       python -m benchmarks stopping BELIEFS.csv
       python -m benchmarks convergence [MODEL]
       python -m benchmarks rhetoric MODEL
       python -m benchmarks hollow [DEBATES]
       python -m benchmarks recall [MODEL]
       python -m benchmarks team [DRAWS [RUNS]]
       python -m benchmarks quotes DEBATES.jsonl.gz
       python -m benchmarks pages DEBATES.jsonl.gz FOLDER [ID ...]
       python -m benchmarks mirrors [--debates N]
"""

import sys
from importlib import import_module

import anyio

from benchmarks import rows

COMMANDS = {
    "compare": "compare",
    "soak": "crashes.soak",
    "arms": "arms.coverage",
    "convergence": "recorded.similarity",
    "team": "recorded.teams.tables",
    "recall": "stored.recall",
    **{
        name: f"recorded.{name}"
        for name in (
            "hollow",
            "judges",
            "labels",
            "mirrors",
            "pages",
            "quotes",
            "rhetoric",
            "stopping",
        )
    },
}
"""The module of each command, imported for it alone: rows of older checkouts do without the product's rules."""


def main() -> None:
    match sys.argv[1:]:
        case [name, *rest] if name in COMMANDS:
            import_module(f"benchmarks.{COMMANDS[name]}").main(rest)
        case ["--alone", name]:
            anyio.run(rows.measure_alone, name)
        case ["write", *names]:
            rows.check_names(names)
            rows.write_table(names or rows.USUAL)
        case names:
            rows.check_names(names)
            rows.print_rows(names or rows.USUAL)


if __name__ == "__main__":
    main()
