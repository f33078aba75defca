"""The examples run as they stand, on the scripted model, and print what they promise."""

import json
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.paths import ROOT

pytestmark = [pytest.mark.requirement("M6"), pytest.mark.full]

EXAMPLES = {path.stem for path in (ROOT / "examples").glob("*.py")} - {"counterpoint_client"}

PRINTED: dict[str, list[str]] = {
    "second_opinion": ["**Leaning**: ", "**How sure**: ", "**Cost**: 4 calls, "],
    "step_by_step": [
        "argumentation: 3 turns",
        "### Note to everybody\n\n> Assume a team of two people.",
        "**Leaning (",
    ],
    "handoff": [
        "Proponent: The question is",
        "(chosen)",
        ": The other side says",
        "leaning: ",
    ],
    "unattended": [
        "Estimate: 16 to 17 calls",
        "It may take 10 calls.",
        "concluded after 10 calls: budget: 8 of 10 calls spent",
        "they share round 1.",
    ],
    "breakpoint": [
        "paused: pause_when verdict: the verdict comes next, after round 2.",
        "paused again, with a round on the note: pause_when verdict: the verdict comes next, after round 3.",
        "concluded, leaning: ",
    ],
    "claims": [
        "Leaning (1 of 1 judge",
        "The analyst read rounds [1, 2]: ",
        "doc 1: 427,241 characters, digest",
    ],
    "effort": [
        "Estimate: 2 calls, 6 to 40 s, ",
        "Other efforts: standard 4 to 8 calls, ",
        "Effort quick: 1 answer, 1 review. 2 calls, ",
        "Effort standard: 2 answers, 2 reviews, an exchange and a report where they differ. 4 calls, ",
        "Effort assured: 2 answers, 4 reviews, an exchange and a report where they differ, a check. 7 calls, ",
    ],
    "mirror": [
        "Leaning (2 of 2 judges",
        "The mirror agrees.",
        "position +2.0, debater +0.0",
        "in the mirror ",
    ],
    "client_model": [
        "Your client's own model gets about 8 requests; it may ask you to approve each.",
        "asked: Write points that begin with [1], [2]",
        "asked: Answer with JSON only",
        "concluded: close it for a summer",
        "8 calls, ",
        ", price unknown.",
    ],
    "caller_seat": [
        "--- Script is told:",
        "Your position: ",
        '### Script ("close it")',
        "Nine of ten customers",
        '### Model ("keep it open")',
        "Deliveries have until ten",
        "**Leaning (",
    ],
}
"""What each example prints, in this order."""


RunExample = Callable[..., str]


@pytest.fixture
def run_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> RunExample:
    """Runs an example as a script and returns what it prints.

    In this process, which has imported the SDK already: an interpreter of its own costs a second. The server
    that the example starts is a process of its own.
    """
    monkeypatch.setenv("COUNTERPOINT_DB", str(tmp_path / "debates.db"))
    monkeypatch.syspath_prepend(ROOT / "examples")

    def run(example: str, model: str = "scripted") -> str:
        monkeypatch.setenv("COUNTERPOINT_MODELS", model)
        monkeypatch.setattr(sys, "argv", [f"{example}.py"])  # its own question, and not an option of pytest
        try:
            runpy.run_path(str(ROOT / "examples" / f"{example}.py"), run_name="__main__")
        except SystemExit as end:
            if end.code:
                raise
        return capsys.readouterr().out

    return run


def test_every_example_is_run() -> None:
    assert {*PRINTED, "investment_decision", "moderated_verdict"} == EXAMPLES


def find_end(end: SystemExit, capsys: pytest.CaptureFixture[str]) -> str:
    """What is shown last. `end.code`: a text, which is printed as the interpreter ends with 1, or the exit code."""
    assert end.code
    assert isinstance(end.code, str) or end.code == 1
    printed = capsys.readouterr()
    return end.code if isinstance(end.code, str) else printed.out + printed.err


@pytest.mark.parametrize("example", sorted(EXAMPLES - {"client_model", "unattended", "claims"}))
def test_an_example_whose_models_fail_ends_with_the_cause(
    example: str, run_example: RunExample, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        run_example(example, "faulty?model=scripted&failure=1&seed=1")

    assert "(chaos)" in find_end(end.value, capsys)


def test_an_example_whose_server_does_not_start_ends_with_the_cause(
    run_example: RunExample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server has said why: the path is that of a folder."""
    monkeypatch.setenv("COUNTERPOINT_DB", str(tmp_path))
    with pytest.raises(SystemExit) as end:
        run_example("step_by_step")

    assert str(end.value.code).startswith("The server: ")


@pytest.mark.requirement("B1", "C13", "N7")
@pytest.mark.parametrize("example", PRINTED)
def test_an_example_prints_what_it_promises(example: str, run_example: RunExample) -> None:
    printed = run_example(example)

    places = [printed.find(part) for part in PRINTED[example]]
    assert -1 not in places, printed
    assert places == sorted(places)


@pytest.mark.requirement("C13", "N7")
def test_the_package_with_a_seat_of_its_own_installs_and_its_models_debate(tmp_path: Path) -> None:
    source, site = tmp_path / "source", tmp_path / "site"
    shutil.copytree(ROOT / "examples" / "own_seat", source)  # pip may write into the folder that it builds
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*install, "--target", str(site), str(source)], check=True)
    debaters = [
        "--debater",
        "Facts=fact-book/vans: switch now",
        "--debater",
        "Echo=parrot/Polly: wait a year",
    ]

    done = subprocess.run(
        [
            *(sys.executable, "-m", "counterpoint", "debate", "Electric vans?"),
            *(*debaters, "--judge-model", "scripted"),
        ],
        env=os.environ
        | {
            "COUNTERPOINT_DB": str(tmp_path / "debates.db"),
            "PYTHONPATH": os.pathsep.join([str(site), str(ROOT)]),
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    for part in ("The depot has 42 vans", "Polly says: ", "Night tariffs"):
        assert part in done.stdout


@pytest.mark.requirement("C3", "C10")
def test_the_moderated_example_prints_rounds_and_ends_with_json_it_chose(run_example: RunExample) -> None:
    printed = run_example("moderated_verdict")

    assert printed.startswith("Round 1: advocate, skeptic, operator. \nRound 2: ")
    assert printed.index("Round 3: ") < printed.index("\nVerdict: ")
    made = json.loads(printed[printed.index("{\n") :])
    assert set(made) == {"decision", "reasons", "revisit_in_months"}
    assert 1 <= made["revisit_in_months"] <= 24


@pytest.mark.requirement("A6")
def test_the_investment_decision_prints_rounds_summaries_and_the_decision(run_example: RunExample) -> None:
    printed = run_example("investment_decision")

    speakers = ["[Bull, growth investor]", "[Bear, credit analyst]", "Moderator's summary"]
    parts = ["ROUND 1", *speakers, "CONTINUE", "ROUND 2", *speakers, "SETTLED", "FINAL DECISION\n"]
    rest = printed
    for part in parts:
        before, found, rest = rest.partition(part)
        assert found, f"{part!r} does not come after {before[-80:]!r}"
    decision, _, end = rest.strip().partition("\n\n")
    assert decision.startswith("Try ")
    assert end == "2 rounds, settled: True (settled: the moderator settled it)"
