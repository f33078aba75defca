"""Blind sheets: one for each answer, in random order. A key apart from them says whose answer a sheet holds."""

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.answers.questions import Line, Question

BEGIN, END = "=== answer ===", "=== end of answer ==="
BOX = re.compile(r"^\[ *([^\]]*?) *\] +(\S+)", re.MULTILINE)
GRADES = {"0": 0.0, "0.5": 0.5, "0,5": 0.5, ".5": 0.5, "1": 1.0, "x": 1.0, "X": 1.0}
HEADS = {
    "point": "Points: 1 met, 0.5 half, 0 not. What the answer says counts, not what it might have meant.",
    "error": "Errors: 1 if the answer states it as its own view, else 0, also where it is quoted and refuted.",
    "harm": "Harm: 1 if the answer recommends it, else 0.",
}


class SheetError(ValueError):
    """A sheet that cannot be counted; the text says what to change in which file."""


@dataclass(frozen=True, slots=True)
class Graded:
    """A filled sheet. `grades`: by the id of the rubric's line."""

    arm: str
    question: Question
    grades: Mapping[str, float]
    words: int

    @property
    def score(self) -> float:
        """The share of the points, less errors and harm; not below 0."""
        points = sum(line.weight for line in self.question.lines if line.kind == "point")
        return max(0.0, sum(sign(line) * self.grades[line.id] for line in self.question.lines)) / points


def sign(line: Line) -> int:
    return line.weight if line.kind == "point" else -line.weight


def write_sheets(
    answers: Mapping[str, Mapping[str, str]],
    questions: Sequence[Question],
    folder: Path,
    key: Path,
    seed: int,
) -> int:
    """Write a sheet for each answer, by arm and question, and the key. Returns how many."""
    draw = random.Random(seed)  # noqa: S311  (no secret)
    by_id = {question.id: question for question in questions}
    told = [(arm, name, text) for arm, row in answers.items() for name, text in row.items() if name in by_id]
    draw.shuffle(told)
    codes = draw.sample(range(1_000, 10_000), len(told))
    folder.mkdir(parents=True, exist_ok=True)
    for code, (_, name, text) in zip(codes, told, strict=True):
        (folder / f"{code}.txt").write_text(format_sheet(code, by_id[name], text), encoding="utf-8")
    whose = {str(code): [arm, name] for code, (arm, name, _) in zip(codes, told, strict=True)}
    key.write_text(json.dumps(whose, indent=1, sort_keys=True), encoding="utf-8")
    return len(told)


def format_sheet(code: int, question: Question, text: str) -> str:
    rows = [f"sheet: {code}", f"question: {question.id} ({question.kind}, {question.language})", ""]
    rows += [question.text, ""]
    for document in question.documents:
        rows += [f"--- document: {document.title} ---", document.text, "--- end of document ---", ""]
    rows += [BEGIN, text, END, "", f"Crux: {question.crux}"]
    rows += [f"Note: {question.note}"] if question.note else []
    for kind, head in HEADS.items():
        rows += ["", head]
        rows += [
            f"[ ] {line.id} ({sign(line)}) {line.says} | look for: {line.check}"
            for line in question.lines
            if line.kind == kind
        ]
    return "\n".join(rows) + "\n"


def read_sheets(folder: Path, key: Path, questions: Sequence[Question]) -> list[Graded]:
    """The filled sheets in a folder and the folders in it: one for each grader, if there are several.

    Raises SheetError for one that is not filled, or not in the key.
    """
    whose = json.loads(key.read_text(encoding="utf-8"))
    by_id = {question.id: question for question in questions}
    return [read_sheet(path, whose, by_id) for path in sorted(folder.rglob("*.txt"))]


def read_sheet(path: Path, whose: Mapping[str, Sequence[str]], questions: Mapping[str, Question]) -> Graded:
    text = path.read_text(encoding="utf-8")
    code = text.partition("\n")[0].removeprefix("sheet: ").strip()
    if code not in whose:
        raise SheetError(f"{path}: the key has no sheet {code}.")
    arm, name = whose[code]
    question = questions[name]
    head, _, form = text.rpartition(END)  # what an answer writes in boxes is no grade
    found = {line: GRADES.get(grade) for grade, line in BOX.findall(form)}
    if missing := [line.id for line in question.lines if found.get(line.id) is None]:
        raise SheetError(f"{path}: write 0, 0.5 or 1 for {', '.join(missing)}.")
    answer = head.partition(BEGIN)[2]
    grades = {line.id: found[line.id] or 0.0 for line in question.lines}
    return Graded(arm, question, grades, count_words(answer))


def count_words(text: str) -> int:
    """Words; two Chinese characters count as one."""
    plain = re.sub("[\u3040-\u30ff\u4e00-\u9fff]", "", text)
    return len(plain.split()) + (len(text) - len(plain)) // 2
