"""`counterpoint evaluate`: what it prints, and what it refuses."""

import json
from pathlib import Path

import pytest

from tests.support.servers import Cli

pytestmark = pytest.mark.requirement("N20")


def write_questions(folder: Path, count: int) -> Path:
    rows = [
        {
            "id": f"q{n}",
            "question": f"Is <b>{n}</b> enough?",
            "options": [f"yes {n}", f"no {n}"],
            "answer": n % 2,
        }
        for n in range(count)
    ]
    file = folder / "questions.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return file


@pytest.fixture
def questions(tmp_path: Path) -> str:
    return str(write_questions(tmp_path, 3))


MODELS = ("--model", "scripted", "--judge", "scripted")


def test_it_prints_the_table_of_arms_and_says_before_what_it_may_take(cli: Cli, questions: str) -> None:
    result = cli("evaluate", questions, *MODELS)
    assert (result.exit_code, result.stdout[:2]) == (0, "# ")
    assert "<b>0</b>" not in result.stdout.replace("\\<b>", "")
    assert "3 questions, 12 debates and 3 votes: about" in result.stderr
    for part in (
        "| arm | right | Brier | calls |",
        "`debate` less `vote`",
        "`standard` less `no_exchange`",
        "95% intervals",
    ):
        assert part in " ".join(result.stdout.split())


def test_json_is_all_there_is_on_stdout(cli: Cli, questions: str) -> None:
    models = (*MODELS, "--format", "advocates")
    result = cli("evaluate", questions, *models, "--json", "--limit", "2")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["questions"], found["left"], found["notes"]) == (0, 2, 0, [])
    assert found["arms"].keys() == {"single", "blind", "vote", "debate"}
    assert found["spent"]["calls"] == found["arms"]["vote"]["calls"] + found["arms"]["debate"]["calls"]
    again = json.loads(cli("evaluate", questions, *models, "--json").stdout)
    assert again["rows"][:2] == found["rows"]


def test_a_budget_that_is_used_up_exits_with_1_and_says_how_to_go_on(cli: Cli, questions: str) -> None:
    result = cli("evaluate", questions, *MODELS, "--max-calls", "60", "--at-once", "1")
    assert result.exit_code == 1
    assert "the budget of 60 calls does not pay for another debate. 8 debates not begun." in result.stderr
    assert "Run the same command again to go on" in result.stderr
    assert "on 1 question" in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        (
            '{"id": 1, "question": "Ship?", "options": ["y", "n"], "answer": 2}',
            (),
            "Line 1: the answer is the number of an option, from 0 to 1 here",
        ),
        (None, ("--model", "openai/gpt-5"), "OPENAI_API_KEY is not set"),
        (None, ("--max-cost", "1", "--model", "scripted", "--judge", "ollama/x"), "Error"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_recorded(
    cli: Cli, tmp_path: Path, content: str | None, options: tuple[str, ...], expected: str
) -> None:
    file = write_questions(tmp_path, 1)
    if content is not None:
        file.write_text(content, encoding="utf-8")
    result = cli("evaluate", str(file), *options)
    assert (result.exit_code, result.stdout) == (1 if "not set" in expected else 2, "")
    assert expected in result.stderr
    assert cli("list", "--json").stdout.count("debate_id") == 0
