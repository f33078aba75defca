"""`counterpoint demo`: the recorded debate, as it is replayed and as a page. CI runs all of it."""

import io
import os
import re
import sys
from pathlib import Path
from time import monotonic

import pytest
from ruamel.yaml import YAML

from server.cli.debates.demo import read_recording, replay, show_recording, wait_or_key
from server.cli.live.display import LiveDisplay
from server.cli.live.keyboard import Keyboard
from server.cli.terminal import Terminal
from server.debate.facts.advice import Advised, Reviewed
from tests.support.paths import ROOT
from tests.support.patience import PATIENCE
from tests.support.servers import Cli

pytestmark = pytest.mark.requirement("M8", "N19")

RENEW = "run `python packaging/record_demo.py`"


def test_the_recording_is_a_whole_debate_whose_words_stand_in_the_source() -> None:
    recording = read_recording()
    play = YAML(typ="safe").load((ROOT / "packaging" / "demo.yaml").read_text(encoding="utf-8"))
    debate = recording.snapshot.debate

    assert debate.ended, RENEW
    assert debate.ended.ending == "concluded"
    assert {one.model for one in debate.setup.debaters} == {"written-1", "written-2"}
    said = [one.recommendation for one in debate.advice if isinstance(one, Advised | Reviewed)]
    written = [*play["answers"].values(), *play["reviews"].values()]
    assert sorted(said) == sorted(one["recommendation"] for one in written), RENEW
    answers = [one.text for one in debate.advice if isinstance(one, Reviewed)]
    assert sorted(answers) == sorted(one["answer"] for one in play["reviews"].values()), RENEW


@pytest.mark.parametrize("limit", [2.0, 5.0, 300.0])
def test_a_replay_keeps_the_time_of_the_record_within_its_limit(limit: float) -> None:
    recording = read_recording()
    display = LiveDisplay(Terminal(io.StringIO()))
    waits: list[float] = []
    shown: list[tuple[float, int]] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        assert display.snapshot
        shown.append((sum(waits), display.snapshot.debate.version))

    replay(recording, display, limit, wait)

    length = recording.times[-1]
    assert sum(waits) == pytest.approx(min(length, limit), abs=0.2)
    speed = max(length / limit, 1)
    for number, at in enumerate(recording.times, start=1):
        first = next(seconds for seconds, version in shown if version >= number)
        assert first == pytest.approx(at / speed, abs=0.2)


def test_the_replay_says_that_it_is_one_and_ends_with_the_path_of_its_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cli: Cli
) -> None:
    page = tmp_path / "data" / "demo.html"

    show_recording(read_recording(), page)

    output = capsys.readouterr().out
    assert output.startswith("== Recorded: what an answer looks like. ")
    assert "written beforehand, no model was asked" in " ".join(output.split())
    words = " ".join(output.replace("│", "").split())
    advice = read_recording().snapshot.debate.advice
    said = [" ".join(one.recommendation.split())[-40:] for one in advice if one.kind == "advised"]
    assert len(said) == 2
    assert all(text in words for text in said)
    assert output.index("Round 1: answer") < output.index("Leaning: ")
    assert output.endswith(f"for your browser:\n{page}\n")
    assert "<!doctype html>" in page.read_text(encoding="utf-8").lower()[:200]
    assert read_recording().snapshot.id in page.read_text(encoding="utf-8")
    assert "There is no database" in cli("list").stderr  # and none was made


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pty")
def test_a_key_ends_all_waiting_of_a_replay() -> None:
    terminal, descriptor = os.openpty()
    keys: list[bool] = []
    with Keyboard(descriptor) as keyboard:
        wait_or_key(keyboard, keys, 0)
        assert not keys
        os.write(terminal, b" ")
        started_at = monotonic()
        for _ in range(2):
            wait_or_key(keyboard, keys, PATIENCE)
        assert monotonic() - started_at < PATIENCE

    os.close(terminal)
    os.close(descriptor)


def test_the_demo_shows_the_recorded_answer_where_the_model_cannot_be_fetched(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in {
        "XDG_CACHE_HOME": str(tmp_path),
        "PIP_NO_INDEX": "1",
        "PIP_NO_CACHE_DIR": "1",
        "UV_OFFLINE": "1",
        "UV_CACHE_DIR": str(tmp_path),
    }.items():
        monkeypatch.setenv(name, value)

    shown = cli("demo", "--no-open")

    assert shown.exit_code == 0
    local, recorded = shown.stdout.split("== Recorded: ")
    assert "The recorded answer needs none of it." in local
    assert "counterpoint keys set" in recorded
    assert cli("demo", "--local").exit_code == 1


def test_the_readme_shows_what_the_replay_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    [shown] = re.findall(r"```\n(\w+: \"No\. Start as one .*?)```", readme, re.DOTALL)

    show_recording(read_recording(), tmp_path / "demo.html")

    # each recording has an id of its own, and takes a second more or less
    told = r"\d+ s\. Debate \w+|│"
    shown, printed = (" ".join(re.sub(told, "", text).split()) for text in (shown, capsys.readouterr().out))
    pieces = [piece.strip() for piece in shown.split("…")]
    places = [printed.find(piece) for piece in pieces]
    assert -1 not in places, pieces[places.index(-1)]
    assert places == sorted(places)
