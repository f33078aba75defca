"""The questions, and what their answers are graded by: one file for each, in `questions/`."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

FOLDER = Path(__file__).parent / "questions"

Found = Literal["rarely", "often", "mostly"]
"""How often a strong model says it when it answers in one go. Estimated by the author of the questions."""

FOUND: tuple[Found, ...] = get_args(Found)


@dataclass(frozen=True, slots=True)
class Document:
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the rubric: a point that an answer should have, an error that it may state, or harm that it may do."""

    id: str
    kind: Literal["point", "error", "harm"]
    weight: int
    says: str
    check: str  # how a grader recognises it
    found: Found | None = None  # of points


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    kind: str
    language: str
    text: str
    documents: tuple[Document, ...]
    crux: str
    note: str
    lines: tuple[Line, ...]


def load_questions(ids: Sequence[str] = ()) -> list[Question]:
    """The questions with these ids; by default all. Raises FileNotFoundError for one that there is not."""
    names = ids or sorted(path.stem for path in FOLDER.glob("*.toml"))
    return [read_question(FOLDER / f"{name}.toml") for name in names]


def read_question(path: Path) -> Question:
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    lines = [
        *(read_line(f"{path.stem}.p{n}", "point", row) for n, row in enumerate(found["points"], 1)),
        *(read_line(f"{path.stem}.e{n}", "error", row) for n, row in enumerate(found["errors"], 1)),
        *(read_line(f"{path.stem}.h{n}", "harm", row) for n, row in enumerate(found["harmful"], 1)),
    ]
    documents = tuple(Document(**row) for row in found.get("documents", ()))
    note = found.get("note", "")
    return Question(
        path.stem,
        found["kind"],
        found["language"],
        found["question"],
        documents,
        found["crux"],
        note,
        tuple(lines),
    )


def read_line(name: str, kind: Literal["point", "error", "harm"], row: dict[str, Any]) -> Line:
    return Line(name, kind, row["weight"], row["says"], row["check"], row.get("found_in_one_go"))
