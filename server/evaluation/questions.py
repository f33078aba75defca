"""Questions with options and the right answer, as JSON Lines: `{"id", "question", "options": [...], "answer": index}`.

Other keys are left alone: many collections have more.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from server.debate.commands.setup.debaters import MAX_DEBATERS, MIN_DEBATERS
from server.debate.commands.setup.open import MAX_QUESTION_LENGTH
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.text import clean, clean_line, collapse_whitespace
from server.debate.interventions.revise_positions import MAX_STANCE_LENGTH

MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_ID_LENGTH = 200
SHAPE = '{"id": "q1", "question": "…?", "options": ["…", "…"], "answer": 0}'


@dataclass(frozen=True, slots=True)
class Question:
    """`answer`: the index of the right option, from 0."""

    id: str
    text: str
    options: tuple[str, ...]
    answer: int


def parse_questions(content: bytes) -> list[Question]:
    """The questions of a file, in its order.

    Raises:
        InvalidRequestError: something is wrong with a line; the text has its number and says what to change.
    """
    if len(content) > MAX_FILE_BYTES:
        raise InvalidRequestError(f"The file is larger than {MAX_FILE_BYTES >> 20} MB.")
    found: dict[str, Question] = {}
    lines: dict[str, int] = {}
    for number, raw in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not raw.strip():
            continue
        question = read_question(parse_line(raw, number), number)
        if question.id in found:
            refuse(number, f'the id "{question.id}" is that of line {lines[question.id]}', "Give it another")
        found[question.id], lines[question.id] = question, number
    if not found:
        raise InvalidRequestError(f"The file holds no question. Each is one line: {SHAPE}.")
    return list(found.values())


def refuse(line: int, problem: str, advice: str) -> NoReturn:
    raise InvalidRequestError(f"Line {line}: {problem}. {advice}.")


def parse_line(raw: bytes, number: int) -> Mapping[str, Any]:
    try:
        data = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError:
        refuse(number, "it is not UTF-8", "Save the file in UTF-8")
    except RecursionError:
        refuse(number, "it is nested too deeply", f"Write {SHAPE}")
    except ValueError as error:
        where = f" at column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        refuse(number, f"it is not JSON{where}", f"Each question is one whole line: {SHAPE}")
    if not isinstance(data, dict):
        refuse(number, "it is not an object", f"Write {SHAPE}")
    for key in ("id", "question", "options", "answer"):
        if key not in data:
            field_names = ", ".join(sorted(map(clean_line, data)))[:100] or "nothing"
            refuse(number, f'"{key}" is missing (there is {field_names})', f"Write {SHAPE}")
    return data


def read_question(data: Mapping[str, Any], line: int) -> Question:
    options = read_options(data["options"], line)
    return Question(
        id=read_id(data["id"], line),
        text=read_text(data["question"], line, '"question"', MAX_QUESTION_LENGTH),
        options=options,
        answer=read_answer(data["answer"], options, line),
    )


def read_id(value: Any, line: int) -> str:
    """Its id; whole numbers count as text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    text = read_text(value, line, '"id"', MAX_ID_LENGTH)
    if clean_line(text) != text:
        refuse(line, '"id" is more than one line', "Shorten it")
    return text


def read_text(value: Any, line: int, what: str, limit: int) -> str:
    if not isinstance(value, str):
        refuse(line, f"{what} is not text", "Put it between quotation marks")
    text = clean(value)
    if not text:
        refuse(line, f"{what} is empty", "Write it out")
    if len(text) > limit:
        refuse(line, f"{what} has {len(text):,} characters, and {limit:,} are the most", "Shorten it")
    return text


def read_options(value: Any, line: int) -> tuple[str, ...]:
    if not isinstance(value, list) or not MIN_DEBATERS <= len(value) <= MAX_DEBATERS:
        many = f"{len(value)} options" if isinstance(value, list) else "no list of options"
        refuse(line, f"it has {many}", f"Give {MIN_DEBATERS} to {MAX_DEBATERS}")
    options = [
        read_text(each, line, f"option {index}", MAX_STANCE_LENGTH) for index, each in enumerate(value)
    ]
    first: dict[str, int] = {}
    for index, option in enumerate(options):
        if (same := first.setdefault(collapse_whitespace(option), index)) != index:
            refuse(line, f"options {same} and {index} are the same", "Leave one out")
    return tuple(options)


def read_answer(value: Any, options: tuple[str, ...], line: int) -> int:
    counted = f"It is the number of the right option, counted from 0: 0 to {len(options) - 1} here"
    if not isinstance(value, int) or isinstance(value, bool):
        refuse(line, '"answer" is not a whole number', counted)
    if not 0 <= value < len(options):
        refuse(line, f'"answer" is {str(value)[:20]}, and there are {len(options)} options', counted)
    return value
