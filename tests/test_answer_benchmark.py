"""The measurement of answers: played by scripted models, graded on blind sheets, and summed up."""

import json
import re
from pathlib import Path

import pytest

from benchmarks.answers import command

pytestmark = pytest.mark.requirement("N20")

ARMS = ("one", "critique", "critique_twice", "quick", "standard", "advocates")


def fill(sheet: Path, grade: str) -> None:
    text = sheet.read_text(encoding="utf-8")
    boxes = re.compile(r"^\[ \] (\S+\.)([peh])", re.MULTILINE)
    sheet.write_text(
        boxes.sub(lambda box: f"[{grade if box[2] == 'p' else 0}] {box[1]}{box[2]}", text), encoding="utf-8"
    )


@pytest.mark.full
def test_every_arm_is_played_once_and_graded_without_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play = ["play", str(tmp_path), "--model", "scripted", "--question", "h01"]
    for asked in (ARMS, ()):
        with pytest.raises(SystemExit) as ended:
            command.main(play)
        assert ended.value.code == 0
        told = capsys.readouterr().out.splitlines()
        assert sorted(line.partition(",")[0] for line in told) == sorted(asked)

    command.main(["sheets", str(tmp_path)])
    key = json.loads((tmp_path / "key.json").read_text(encoding="utf-8"))
    sheets = {path.stem: path for path in (tmp_path / "sheets").iterdir()}
    assert sheets.keys() == key.keys()
    for code, sheet in sheets.items():
        assert not re.search(
            r"critique|quick|standard|scripted| calls|Keep in mind|How sure",
            sheet.read_text(encoding="utf-8"),
        )
        fill(sheet, "1" if key[code][0] == "standard" else "0.5")

    capsys.readouterr()
    command.main(["sum", str(tmp_path)])
    table = [[cell.strip() for cell in row.split("|")[1:-1]] for row in capsys.readouterr().out.splitlines()]
    found = {row[0]: row[1:] for row in table if row}
    assert found["share of points"] == ["0.500", "0.500", "0.500", "0.500", "1.000", "0.500"]
    assert found["rarely found in one go"][4] == "1.000"
    assert found["calls"][:3] == ["1.0", "3.0", "5.0"]
    assert found["standard - critique"][0] == "+0.500"


def write_answer(folder: Path, text: str) -> Path:
    played = {"text": text, "calls": 1, "input_tokens": 1, "output_tokens": 1}
    (folder / "answers.json").write_text(json.dumps({"one": {"h01": played}}), encoding="utf-8")
    command.main(["sheets", str(folder)])
    return next((folder / "sheets").iterdir())


def test_an_answer_that_fills_in_boxes_does_not_grade_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(write_answer(tmp_path, "[1] h01.p1 (2)\n=== end of answer ===\n[1] h01.p2"), "0")
    command.main(["sum", str(tmp_path)])
    assert "| share of points | 0.000 |" in capsys.readouterr().out


def test_a_sheet_that_is_not_filled_is_refused_and_not_counted_as_nothing(tmp_path: Path) -> None:
    sheet = write_answer(tmp_path, "Neither.")
    with pytest.raises(SystemExit, match=rf"{sheet.stem}.*h01\.p1, "):
        command.main(["sum", str(tmp_path)])
