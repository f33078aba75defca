"""The task for inspect_ai, run with its own command and read from its log."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT

pytestmark = [
    pytest.mark.requirement("N20"),
    pytest.mark.skipif(find_spec("inspect_ai") is None, reason="needs inspect_ai: --group full"),
]

TASK = "counterpoint/inspect_tasks.py@counterpoint_questions"
ROWS = [
    ("moons", "Which planet has the most moons?", ["Jupiter", "Saturn"]),
    ("floats", "Is 0.1 + 0.2 == 0.3 in Python?", ["yes", "no"]),
    ("product", "What is 7 times 8?", ["54", "56", "58"]),
]


def run_inspect(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    ours = {"COUNTERPOINT_DB": str(folder / "debates.db"), "PYTHONPATH": str(ROOT), "INSPECT_DISPLAY": "none"}
    command = [sys.executable, "-m", "inspect_ai", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=os.environ | ours, capture_output=True, text=True, check=False, timeout=120
    )


def evaluate(folder: Path, answers: list[int], *arguments: str) -> dict[str, Any]:
    """The log of an evaluation of the questions above with these right answers."""
    lines = [
        json.dumps({"id": name, "question": question, "options": options, "answer": answer})
        for (name, question, options), answer in zip(ROWS, answers, strict=True)
    ]
    questions, logs = folder / "questions.jsonl", folder / f"logs{len(list(folder.glob('logs*')))}"
    questions.write_text("\n".join(lines), encoding="utf-8")
    given = ("--model", "mockllm/model", "-T", f"path={questions}", "-T", "models=scripted", *arguments)
    done = run_inspect(folder, "eval", TASK, *given, "--log-dir", str(logs))
    assert done.returncode == 0, done.stdout + done.stderr
    (log,) = logs.iterdir()
    found: dict[str, Any] = json.loads(run_inspect(folder, "log", "dump", str(log)).stdout)
    return found


def read_accuracy(log: dict[str, Any]) -> float:
    (score,) = log["results"]["scores"]
    return float(score["metrics"]["accuracy"]["value"])


def read_metadata(log: dict[str, Any], key: str) -> list[Any]:
    return [
        sample["metadata"][key] for sample in sorted(log["samples"], key=lambda sample: str(sample["id"]))
    ]


def test_inspect_scores_debates_and_its_log_holds_what_was_said(tmp_path: Path) -> None:
    first = evaluate(tmp_path, [0, 0, 0])
    samples = {sample["id"]: sample for sample in first["samples"]}
    chosen = [ord(samples[name]["scores"]["choice"]["answer"]) - ord("A") for name, _, _ in ROWS]
    for name, question, options in ROWS:
        sample = samples[name]
        user, *rounds, finding = sample["messages"]
        assert (user["role"], user["content"]) == ("user", question)
        assert [message["content"].splitlines()[0] for message in rounds] == [
            "## Round 1: opening",
            "## Round 2: rebuttal",
            "## Round 3: verdict",
        ]
        assert all(
            f'### Option {"ABC"[n]} ("{option}")' in rounds[0]["content"] for n, option in enumerate(options)
        )
        assert "### judge 1, reading 2" in rounds[2]["content"]
        answer = f"\nANSWER: {sample['scores']['choice']['answer']}"
        assert finding["content"].startswith("## Verdict: Leaning")
        assert finding["content"].endswith(answer)
        assert sample["output"]["choices"][0]["message"]["content"] == finding["content"]
        assert sample["metadata"]["outcome"] == "leaning"
        assert 0 < sample["metadata"]["confidence"] < 1
        assert (sample["metadata"]["cost_usd"], sample["metadata"]["calls"] >= 8) == ("0", True)

    # With the key turned the same debates are read: two answers are right now, and one is wrong.
    turned = evaluate(tmp_path, [chosen[0], chosen[1], 1 - min(chosen[2], 1)])
    assert read_accuracy(turned) == pytest.approx(2 / 3, abs=0.001)
    assert read_metadata(turned, "debate_id") == read_metadata(first, "debate_id")


def test_each_epoch_has_its_own_debate_with_the_effort_that_was_asked_for(tmp_path: Path) -> None:
    log = evaluate(tmp_path, [0, 0, 0], "-T", "effort=quick", "--limit", "1", "--epochs", "2")
    assert len({*read_metadata(log, "debate_id")}) == len(log["samples"]) == 2
    assert all("Effort quick" in sample["messages"][-1]["content"] for sample in log["samples"])


def test_a_model_that_cannot_be_asked_is_an_error_of_the_sample(tmp_path: Path) -> None:
    log = evaluate(tmp_path, [0, 0, 0], "-T", "judges=no-such-model", "--limit", "1", "--no-fail-on-error")
    assert "no-such-model" in log["samples"][0]["error"]["message"]


def test_without_a_winner_no_choice_is_made_and_the_sample_counts_as_wrong(tmp_path: Path) -> None:
    judges = "judges=scripted,faulty?model=scripted&failure=1"
    log = evaluate(tmp_path, [0, 0, 0], "-T", judges, "--limit", "1")
    (sample,) = log["samples"]
    assert sample["metadata"]["outcome"] == "undecided"
    assert sample["messages"][-1]["content"].endswith("ANSWER: none")
    assert (sample["scores"]["choice"]["answer"], read_accuracy(log)) == ("", 0)
