"""`python -m benchmarks labels`: what labels are worth, counted by the product's own rules."""

import sys
from pathlib import Path

import pytest

from benchmarks import __main__ as benchmarks

pytestmark = pytest.mark.requirement("N2")

RECORDED = """\
item,gold,judge,prompt,winner_given_order,winner_swapped_order
one,1,m,x,1,1
one,1,n,x,1,1
two,1,m,x,2,2
two,1,n,x,2,2
three,1,m,x,1,1
three,1,n,x,1,2
four,2,m,x,1,2
four,2,n,x,,2
"""


def measure(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    monkeypatch.setattr(sys, "argv", ["benchmarks", "labels", str(path)])
    benchmarks.main()
    return capsys.readouterr().out.splitlines()


def test_labels_are_measured_by_the_number_of_judges_of_different_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "recorded.csv"
    path.write_text(RECORDED, encoding="utf-8")
    assert measure(path, monkeypatch, capsys) == [
        "4 items.",
        "",
        "| judges | `decided` | `leaning` | `contested` | `undecided` |",
        "| --- | --- | --- | --- | --- |",
        "| 1 | - | 62%, right in 60% | - | 38% |",
        "| 2 | 50%, right in 50% | - | - | 50%, right in 100% |",
    ]


def test_two_prompts_of_one_model_never_sit_on_one_panel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "recorded.csv"
    path.write_text(RECORDED.replace(",n,x", ",m,y"), encoding="utf-8")
    assert [line[:3] for line in measure(path, monkeypatch, capsys)[4:]] == ["| 1"]
