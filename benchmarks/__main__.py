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
       python -m benchmarks quotes DEBATES.jsonl.gz
       python -m benchmarks pages DEBATES.jsonl.gz FOLDER [ID ...]
       python -m benchmarks mirrors [--debates N]
"""

import sys

import anyio

from benchmarks import compare, rows


def main() -> None:  # noqa: C901, PLR0912  (a case for each command)
    match sys.argv[1:]:
        case ["--alone", name]:
            anyio.run(rows.measure_alone, name)
        case ["compare", *rest]:
            compare.main(rest)
        case ["soak", *rest]:
            from benchmarks.crashes import soak  # noqa: PLC0415  (what it needs is imported for it alone)

            soak.main(rest)
        case ["arms", *rest]:
            from benchmarks.arms import coverage  # noqa: PLC0415  (as below)

            coverage.main(rest)
        case ["labels", *rest]:
            from benchmarks.recorded import labels  # noqa: PLC0415  (rows of older checkouts do without the product's rules)

            labels.main(rest)
        case ["judges", *rest]:
            from benchmarks.recorded import judges  # noqa: PLC0415

            judges.main(rest)
        case ["stopping", *rest]:
            from benchmarks.recorded import stopping  # noqa: PLC0415

            stopping.main(rest)
        case ["convergence", *rest]:
            from benchmarks.recorded import similarity  # noqa: PLC0415

            similarity.main(rest)
        case ["rhetoric", *rest]:
            from benchmarks.recorded import rhetoric  # noqa: PLC0415

            rhetoric.main(rest)
        case ["quotes", *rest]:
            from benchmarks.recorded import quotes  # noqa: PLC0415

            quotes.main(rest)
        case ["pages", *rest]:
            from benchmarks.recorded import pages  # noqa: PLC0415

            pages.main(rest)
        case ["mirrors", *rest]:
            from benchmarks.recorded import mirrors  # noqa: PLC0415

            mirrors.main(rest)
        case ["hollow", *rest]:
            from benchmarks.recorded import hollow  # noqa: PLC0415

            hollow.main(rest)
        case ["write", *names]:
            rows.check_names(names)
            rows.write_table(names or rows.USUAL)
        case names:
            rows.check_names(names)
            rows.print_rows(names or rows.USUAL)


if __name__ == "__main__":
    main()
