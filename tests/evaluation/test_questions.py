"""Files of questions: what is read, and what is refused, with the line and what to change."""

import json
from typing import Any

import pytest

from server.debate.facts.errors import InvalidRequestError
from server.evaluation.plan import Plan, build_request, check_formats
from server.evaluation.questions import Question, parse_questions

pytestmark = pytest.mark.requirement("N20")

GOOD: dict[str, Any] = {"id": "q1", "question": "Ship it?", "options": ["yes", "no"], "answer": 1}


def write(*rows: Any) -> bytes:
    return "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows).encode()


def test_questions_are_read_in_order_with_other_keys_and_empty_lines_left_alone() -> None:
    content = b"\xef\xbb\xbf" + write(GOOD | {"subject": "law"}, "", GOOD | {"id": 2, "answer": 0}) + b"\r\n"
    assert parse_questions(content) == [
        Question("q1", "Ship it?", ("yes", "no"), 1),
        Question("2", "Ship it?", ("yes", "no"), 0),
    ]


def test_a_question_may_have_26_options_in_any_script() -> None:
    options = [f"вариант {number}" for number in range(26)]
    (found,) = parse_questions(write(GOOD | {"options": options, "answer": 25}))
    assert found.options[found.answer] == "вариант 25"


REFUSED = [
    (b"", "The file holds no question. Each is one line"),
    (
        write(GOOD, '{"id": '),
        'Line 2: Invalid JSON: EOF while parsing a value at line 1 column 7. Write {"id": ',
    ),
    (write(GOOD, "[" * 100_000), "Line 2: Invalid JSON: recursion limit exceeded"),
    (b"\xff\xfe{}", "Line 1: Invalid JSON"),
    (write({"id": "a"}), "Line 1: question: Field required"),
    (write(GOOD | {"id": 1}, GOOD | {"id": "1"}), 'Line 2: the id "1" is that of line 1. Give it another.'),
    (write(GOOD | {"id": "a\nb"}), "Line 1: id: it is more than one line"),
    (write(GOOD | {"question": " "}), "Line 1: question: String should have at least 1 character"),
    (write(GOOD | {"options": ["yes"]}), "Line 1: options: Tuple should have at least 2 items"),
    (write(GOOD | {"options": ["yes", 4]}), "Line 1: options[1]: Input should be a valid string"),
    (write(GOOD | {"options": ["yes", " yes "]}), "Line 1: options: options 0 and 1 are the same"),
    (write(GOOD | {"answer": 2}), "Line 1: the answer is the number of an option, from 0 to 1 here"),
    (write(GOOD | {"answer": True}), "Line 1: answer: Input should be a valid integer"),
    (b"x" * (64 * 1024 * 1024 + 1), "The file is larger than 64 MB"),
]


@pytest.mark.parametrize(("content", "expected"), REFUSED, ids=range(len(REFUSED)))
def test_a_bad_file_is_refused_with_the_line_and_what_to_change(content: bytes, expected: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        parse_questions(content)
    assert expected in str(caught.value)


def test_options_that_differ_by_a_sign_or_by_case_are_different() -> None:
    (found,) = parse_questions(write(GOOD | {"options": ["5", "-5", "Mg", "mg"], "answer": 3}))
    request = build_request(Plan(("scripted",)), found, "advocates")
    assert [debater.stance for debater in request.debaters] == ["5", "-5", "Mg", "mg"]


def test_the_option_neutral_makes_no_neutral_debater() -> None:
    (found,) = parse_questions(write(GOOD | {"options": ["positive", "Neutral"]}))
    request = build_request(Plan(("scripted",)), found, "advocates")
    assert request.debaters[1].stance == "Neutral (as the answer)"


def test_no_model_argues_for_the_first_option_of_every_question() -> None:
    plan = Plan(("a/x", "b/y"))
    questions = [Question(str(number), "Ship it?", ("yes", "no"), 0) for number in range(40)]
    firsts = [build_request(plan, question, "advocates").debaters[0].model for question in questions]
    assert 10 < firsts.count("a/x") < 30


def test_the_request_does_not_depend_on_the_right_answer_and_does_on_the_seed() -> None:
    one, other = (Question("q", "Ship it?", ("yes", "no"), answer) for answer in (0, 1))
    assert build_request(Plan(("m",)), one, "verdict") == build_request(Plan(("m",)), other, "verdict")
    assert build_request(Plan(("m",), seed=2), one, "verdict") != build_request(Plan(("m",)), one, "verdict")


@pytest.mark.parametrize(
    ("formats", "problem"),
    [
        (("settle",), r"chooses no option by votes\. Choose among advocates"),
        (("verdict", "verdict"), "given twice"),
    ],
)
def test_formats_that_choose_nothing_or_stand_there_twice_are_refused(
    formats: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(InvalidRequestError, match=problem):
        check_formats(formats)
