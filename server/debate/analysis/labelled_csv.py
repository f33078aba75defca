"""Labelled judgments as CSV: one row for each reading.

Columns, in any order: `item`, `judge`, `reading` (1 or 2), `choice` ("" for none), `belief` ("" or 0 to 1, in the
choice), `gold` (the right side), `first` (the side that stood first, "" unknown) and, optional, `family` and
`topic` (what the item is about).
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple, NoReturn

from server.debate.analysis.judgments import Judgment, Reading
from server.debate.facts.errors import InvalidRequestError, require
from server.debate.facts.text import clean_line, format_count, normalize_topic

COLUMNS = ("item", "judge", "reading", "choice", "belief", "gold", "first")
OPTIONAL_COLUMNS = ("family", "topic")
MOST_CHARACTERS = 500  # of a field
MOST_NAMED = 10  # lines

Row = Mapping[str, str]


class LabelledFile(NamedTuple):
    """The judgments of a file in its order, the number of its rows, and the lines of rows that were left out.

    Those have a belief but no choice that it could belong to: judges who hold both sides alike write such rows.
    """

    judgments: list[Judgment]
    rows: int
    left_out: list[int]


def parse_labelled_csv(lines: Iterable[str]) -> LabelledFile:
    """The judgments of a file.

    Raises:
        InvalidRequestError: it is not such a file; the text names the line and the column.
    """
    judgments: dict[tuple[str, str], Judgment] = {}
    golds: dict[str, str] = {}
    rows, left_out = 0, list[int]()
    reader = csv.reader(lines, strict=True)
    try:
        columns = check_columns(next(reader, []))
        for values in reader:
            if not values:
                continue
            rows += 1
            row = read_row(columns, values, reader.line_num)
            if parse_belief(row["belief"], reader.line_num) is not None and not row["choice"]:
                left_out.append(reader.line_num)
            else:
                add_row(judgments, golds, row, reader.line_num)
    except csv.Error as error:
        refuse(reader.line_num, "", str(error))
    if not rows:
        raise InvalidRequestError("The file holds no judgments: there is no row below the heading.")
    require(judgments, f"The file holds no judgments: {describe_left_out(left_out)}")
    return LabelledFile(list(judgments.values()), rows, left_out)


def describe_left_out(lines: Sequence[int]) -> str:
    """Which rows were left out and why, in a sentence; "" for none."""
    if not lines:
        return ""
    numbers = ", ".join(map(str, lines[:MOST_NAMED])) + (" and more" if len(lines) > MOST_NAMED else "")
    where = f"line{'s' if len(lines) > 1 else ''} {numbers}"
    return f"{format_count(len(lines), 'row')} left out, with a belief and no choice that it is a belief in: {where}."


def refuse(line: int, column: str, problem: str) -> NoReturn:
    where = f"Line {line}, column {column}" if column else f"Line {line}"
    raise InvalidRequestError(f"{where}: {problem}.")


def check_columns(heading: list[str]) -> list[str]:
    columns = [name.strip().removeprefix("\ufeff") for name in heading]
    allowed = (*COLUMNS, *OPTIONAL_COLUMNS)
    for name in COLUMNS:
        if name not in columns:
            refuse(
                1,
                name,
                f"it is missing. The columns are {', '.join(COLUMNS)} and, optional, {', '.join(OPTIONAL_COLUMNS)}",
            )
    for name in columns:
        if name not in allowed or columns.count(name) > 1:
            problem = "stands there twice" if name in allowed else "is none of the columns"
            refuse(1, clean_line(name)[:40], f"it {problem}. They are {', '.join(allowed)}")
    return columns


def read_row(columns: list[str], values: list[str], line: int) -> Row:
    if len(values) != len(columns):
        refuse(line, "", f"it has {len(values)} fields, and the heading has {len(columns)}")
    row = dict(zip(columns, map(clean_line, values), strict=True))
    for name, value in row.items():
        if len(value) > MOST_CHARACTERS:
            refuse(line, name, f"it has {len(value):,} characters, and {MOST_CHARACTERS} are the most")
        if not value and name in ("item", "judge", "gold"):
            refuse(line, name, "it is empty")
    return row


def add_row(judgments: dict[tuple[str, str], Judgment], golds: dict[str, str], row: Row, line: int) -> None:
    """Add a reading to the judgment that it belongs to."""
    item, judge, gold, family = row["item"], row["judge"], row["gold"], row.get("family", "")
    reading = parse_reading(row, line)
    if golds.setdefault(item, gold) != gold:
        refuse(line, "gold", f"{gold!r} is not what an earlier line has for {item!r}, {golds[item]!r}")
    topics = tuple(filter(None, [normalize_topic(row.get("topic", ""))]))
    before = judgments.get((item, judge), Judgment(item, judge, gold, (), family, topics))
    if before.family != family:
        refuse(line, "family", f"{family!r} is not what an earlier line has, {before.family!r}")
    if before.topics != topics:
        refuse(line, "topic", f"it is not what an earlier line has, {', '.join(before.topics) or 'none'}")
    if any(earlier.number == reading.number for earlier in before.readings):
        refuse(line, "reading", f"reading {reading.number} of {item!r} by {judge!r} is there already")
    readings = tuple(sorted((*before.readings, reading), key=lambda read: read.number))
    judgments[item, judge] = Judgment(item, judge, gold, readings, family, topics)


def parse_reading(row: Row, line: int) -> Reading:
    if row["reading"] not in ("1", "2"):
        refuse(line, "reading", f"{row['reading']!r} is not 1 or 2")
    belief = parse_belief(row["belief"], line)
    return Reading(int(row["reading"]), row["choice"], belief, row["first"])


def parse_belief(text: str, line: int) -> Fraction | None:
    """A number from 0 to 1; None where there is none."""
    if not text:
        return None
    integer, _, digits = text.partition(".")
    is_plain = (integer + digits).isascii() and (integer + digits).isdecimal() and len(text) <= 20  # noqa: PLR2004
    belief = Fraction(text) if is_plain and text[-1] != "." else Fraction(-1)
    if not 0 <= belief <= 1:
        refuse(line, "belief", f"{text[:40]!r} is not a number from 0 to 1, such as 0.75")
    return belief
