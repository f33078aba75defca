"""`counterpoint ledger`: files of judgments as they come, and what is shown of them."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from server.models.fakes.scripted import ScriptedModel
from tests.support.engines import open_engine, run_debate
from tests.support.servers import Cli

pytestmark = pytest.mark.requirement("N21")

HEADING = "item,judge,reading,choice,belief,gold,first"


@pytest.fixture
def judgments(tmp_path: Path) -> Path:
    """40 items: a judge that is right, one that is wrong, and one that names what stands first."""
    rows = [HEADING]
    for n in range(40):
        gold, wrong = ("a", "b") if n % 2 else ("b", "a")
        for reading, first in ((1, "a"), (2, "b")):
            rows.append(f"{n},v/right,{reading},{gold},0.9,{gold},{first}")
            rows.append(f"{n},w/wrong,{reading},{wrong},0.9,{gold},{first}")
            rows.append(f"{n},x/first,{reading},{first},0.6,{gold},{first}")
    file = tmp_path / "judgments.csv"
    file.write_text("\n".join(rows), encoding="utf-8")
    return file


def read_json(cli: Cli, *args: str) -> Any:
    result = cli("ledger", *args, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


@pytest.mark.both_databases
def test_a_file_is_imported_once(cli: Cli, judgments: Path) -> None:
    assert read_json(cli, "import", str(judgments)) == {
        "rows": 240,
        "added": 240,
        "changed": 0,
        "left_out": [],
    }
    assert read_json(cli, "import", str(judgments)) == {"rows": 240, "added": 0, "changed": 0, "left_out": []}
    judgments.write_text(f"{HEADING}\n0,v/right,1,a,0.8,b,a\n", encoding="utf-8")
    assert read_json(cli, "import", str(judgments)) == {"rows": 1, "added": 0, "changed": 1, "left_out": []}
    assert cli("ledger", "import", str(judgments)).stdout == "1 row read, 0 added.\n"


def test_what_is_known_of_each_judge_is_shown(cli: Cli, judgments: Path) -> None:
    cli("ledger", "import", str(judgments))
    shown = read_json(cli, "show")
    right, wrong, first = shown["judges"]
    assert right == {
        "judge": "v/right",
        "asked": 40,
        "consistent": 40,
        "right": 40,
        "wrong": 0,
        "weight": "314/100",
        "accuracy": 1.0,
        "agreement": 1.0,
        "proven": True,
        "first_rate": 0.5,
        "warning": "",
    }
    assert (wrong["weight"], wrong["accuracy"], wrong["proven"]) == ("0/100", 0.0, False)
    assert "right no more often than by chance" in wrong["warning"]
    assert (first["asked"], first["consistent"], first["first_rate"], first["accuracy"]) == (40, 0, 1.0, None)
    assert shown["calibration"]["items"] == 40
    lines = cli("ledger", "show").stdout.splitlines()
    assert lines[0].startswith("v/right: right in 40 of 40 votes. Weight 3.14, proven: it may decide alone.")
    assert lines[-1].startswith("Beliefs are corrected by what 40 settled items show")


@pytest.mark.usefixtures("new_database")
def test_an_empty_ledger_says_how_to_fill_it(cli: Cli) -> None:
    shown = cli("ledger", "show")
    assert (shown.exit_code, shown.stdout) == (0, "")
    assert "counterpoint ledger settle" in shown.stderr
    assert read_json(cli, "show")["judges"] == []


@pytest.mark.usefixtures("new_database")
def test_verdicts_of_a_panel_are_evaluated_with_equal_and_with_learnt_weights(
    cli: Cli, judgments: Path
) -> None:
    equal = read_json(cli, "evaluate", str(judgments), "--weights", "equal")
    assert (equal["items"], equal["judges"]) == (40, 3)
    assert equal["labels"] == {"contested": {"items": 40, "share": 1.0, "right": 0, "accuracy": None}}
    assert (equal["forced_accuracy"], equal["coverage"]) == (0.5, 0.0)
    assert read_json(cli, "evaluate", str(judgments))["labels"] == equal["labels"]  # the ledger is empty
    cli("ledger", "import", str(judgments))
    learnt = read_json(cli, "evaluate", str(judgments))
    assert learnt["weights"] == {"v/right": "314/100", "w/wrong": "0/100", "x/first": "0/100"}
    assert learnt["labels"] == {"decided": {"items": 40, "share": 1.0, "right": 40, "accuracy": 1.0}}
    assert learnt["baselines"] == {
        "majority": {"forced_accuracy": 0.5},
        "best_single": {"forced_accuracy": 1.0, "judges": ["v/right"]},
        "one_order": {"forced_accuracy": 0.5},
    }
    assert learnt["pooled"]["items"] == 40
    assert learnt["pooled"]["brier"] < equal["pooled"]["brier"]


@pytest.mark.usefixtures("new_database")
def test_an_evaluation_is_printed(cli: Cli, judgments: Path, tmp_path: Path) -> None:
    text = cli("ledger", "evaluate", str(judgments)).stdout
    assert "40 items, 3 judges." in text
    assert "Divided     100.0%      -  (no side is ahead)" in text
    assert "of a single judge, the mean of 3 with the same weight: 50.0%" in text
    assert "pooled beliefs on 40 items: (1 - belief)^2" in text
    bare = tmp_path / "bare.csv"
    bare.write_text(f"{HEADING}\n1,m,1,a,,a,\n1,m,2,a,,a,\n", encoding="utf-8")
    assert "pooled beliefs" not in cli("ledger", "evaluate", str(bare)).stdout
    pooled = read_json(cli, "evaluate", str(bare))["pooled"]
    assert (pooled["items"], pooled["brier"], pooled["accuracy"]) == (0, None, None)


def test_a_row_with_a_belief_and_no_choice_does_not_cost_the_others(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "torn.csv"
    file.write_text(f"{HEADING}\n1,m,1,a,.9,a,\n1,m,2,,.5,a,\n", encoding="utf-8")
    left_out = "1 row left out, with a belief and no choice that it is a belief in: line 3.\n"
    assert cli("ledger", "import", str(file)).stdout == f"2 rows read, 1 added. {left_out}"
    assert read_json(cli, "import", str(file))["left_out"] == [3]
    evaluated = cli("ledger", "evaluate", str(file))
    assert evaluated.stderr == left_out
    assert "of the judge with the most weight, m: 100.0%" in evaluated.stdout


@pytest.mark.usefixtures("new_database")
def test_files_that_are_not_right_are_refused_with_the_line(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "bad.csv"
    file.write_bytes(HEADING.encode() + b"\n1,m,1,\xff,,a,\n")
    for command in ("import", "evaluate"):
        refused = cli("ledger", command, str(file))
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert refused.stderr == "Error: Line 2: it is not UTF-8.\n"
    file.write_text(f"{HEADING}\n1,m,7,a,,a,\n", encoding="utf-8")
    assert cli("ledger", "import", str(file)).stderr == "Error: Line 2, column reading: '7' is not 1 or 2.\n"
    assert read_json(cli, "show")["judges"] == []


def test_an_outcome_is_recorded_from_the_terminal_and_corrected(cli: Cli, database: str) -> None:
    async def run() -> str:
        async with open_engine(database, ScriptedModel()) as manager:
            debaters = [{"name": "Ada", "stance": "Ship it"}, {"name": "Ben", "stance": "Wait"}]
            return (await run_debate(manager, debaters=debaters)).id

    debate_id = anyio.run(run)
    told = cli("ledger", "settle", debate_id[:6], "ship it", "--why", "It went well.")
    assert told.stdout.startswith('Turned out right: Ship it (Ada). "It went well." It is recorded; ')
    assert "It replaces the one" in cli("ledger", "settle", debate_id, "none").stdout
    refused = cli("ledger", "settle", debate_id, "Cleo")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "Ada (Ship it)" in refused.stderr
    assert "Turned out right: no position." in cli("show", debate_id, "--view", "verdict").stdout
    assert debate_id in cli("list").stdout
    assert cli("db", "check").exit_code == 0
