"""Measure the performance goals, and how good answers are. Never a test: a missed goal is no error.

Usage: python -m benchmarks [ROW ...]
       python -m benchmarks write [ROW ...]      also puts the table into docs/performance.md
       python -m benchmarks compare OLD NEW [--repeats N] [ROW ...]
       python -m benchmarks answers play|sheets|sum DIR ...    how good answers are
       python -m benchmarks spending    what providers' caches save
"""

import sys

import anyio

from benchmarks import compare, rows


def main() -> None:
    match sys.argv[1:]:
        case ["compare", *arguments]:
            compare.main(arguments)
        case ["answers", *arguments]:
            from benchmarks.answers import command  # noqa: PLC0415  (rows measure without the engine)

            command.main(arguments)
        case ["spending"]:
            from benchmarks import spending  # noqa: PLC0415  (rows measure without the engine)

            spending.main()
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
