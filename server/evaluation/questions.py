"""Questions with options and the right answer, as JSON Lines: `{"id", "question", "options": [...], "answer": index}`.

Other keys are left alone: many collections have more.
"""

from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic.dataclasses import dataclass

from server.debate.commands.setup.debaters import MAX_DEBATERS, MIN_DEBATERS
from server.debate.commands.setup.open import MAX_QUESTION_LENGTH
from server.debate.facts.errors import InvalidRequestError, require
from server.debate.facts.text import clean, clean_line, collapse_whitespace
from server.debate.interventions.positions import MAX_STANCE_LENGTH

MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_ID_LENGTH = 200
SHAPE = '{"id": "q1", "question": "…?", "options": ["…", "…"], "answer": 0}'


def check_line(text: str) -> str:
    if clean_line(text) != text:
        raise ValueError("it is more than one line")
    return text


def check_options(options: tuple[str, ...]) -> tuple[str, ...]:
    first: dict[str, int] = {}
    for index, option in enumerate(options):
        if (same := first.setdefault(collapse_whitespace(option), index)) != index:
            raise ValueError(f"options {same} and {index} are the same")
    return options


def limit_text(limit: int) -> StringConstraints:
    return StringConstraints(strip_whitespace=True, min_length=1, max_length=limit)


@dataclass(frozen=True, slots=True, config=ConfigDict(strict=True))
class Question:
    """`id`: whole numbers count as text. `answer`: the index of the right option, from 0."""

    id: Annotated[
        str,
        limit_text(MAX_ID_LENGTH),
        BeforeValidator(lambda value: str(value) if type(value) is int else value),
        AfterValidator(check_line),
    ]
    text: Annotated[str, limit_text(MAX_QUESTION_LENGTH), AfterValidator(clean), Field(alias="question")]
    options: Annotated[
        tuple[Annotated[str, limit_text(MAX_STANCE_LENGTH), AfterValidator(clean)], ...],
        Field(min_length=MIN_DEBATERS, max_length=MAX_DEBATERS),
        AfterValidator(check_options),
    ]
    answer: int

    @model_validator(mode="after")
    def check_answer(self) -> Self:
        if not 0 <= self.answer < len(self.options):
            raise ValueError(f"the answer is the number of an option, from 0 to {len(self.options) - 1} here")
        return self


QUESTION = TypeAdapter(Question)


def parse_questions(content: bytes) -> list[Question]:
    """The questions of a file, in its order.

    Raises InvalidRequestError where something is wrong with a line; the text has its number and says what to change.
    """
    require(len(content) <= MAX_FILE_BYTES, f"The file is larger than {MAX_FILE_BYTES >> 20} MB.")
    questions: dict[str, Question] = {}
    lines: dict[str, int] = {}
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            question = QUESTION.validate_json(line)
        except ValidationError as error:
            raise InvalidRequestError(f"Line {number}: {describe_problem(error)}. Write {SHAPE}.") from None
        first_line = lines.setdefault(question.id, number)
        problem = f'Line {number}: the id "{question.id}" is that of line {first_line}. Give it another.'
        require(first_line == number, problem)
        questions[question.id] = question
    require(bool(questions), f"The file holds no question. Each is one line: {SHAPE}.")
    return list(questions.values())


def describe_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    place = "".join(f"[{part}]" if isinstance(part, int) else str(part) for part in first["loc"])
    return ": ".join(filter(None, (place, first["msg"].removeprefix("Value error, "))))
