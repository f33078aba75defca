"""`counterpoint demo`: the recorded debate, as it is replayed and as a page. CI runs all of it."""

import io
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from server.cli.debates.demo import read_recording, replay, show_recording
from server.cli.live.display import LiveDisplay
from server.cli.terminal import Terminal
from server.debate.facts.events import Spoke
from tests.support.paths import ROOT
from tests.support.servers import Cli

pytestmark = pytest.mark.requirement("M8", "N19")

RENEW = "run `python packaging/record_demo.py`"


def test_the_recording_is_a_whole_debate_whose_words_stand_in_the_source() -> None:
    recording = read_recording()
    play = YAML(typ="safe").load((ROOT / "packaging" / "demo.yaml").read_text(encoding="utf-8"))
    debate = recording.snapshot.debate

    assert debate.ended, RENEW
    assert debate.ended.ending == "concluded"
    assert {one.model for one in debate.setup.debaters} == {*debate.setup.judges.models} == {"written"}
    labels = {one.name: label for one, label in zip(debate.setup.debaters, debate.setup.labels, strict=True)}
    for turn in debate.turns:
        for point in play["turns"][turn.seat][turn.round - 1]:
            assert point.format(**labels) in turn.text, RENEW


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
    assert output.startswith("== Recorded: this debate was held by Counterpoint on ")
    assert "written beforehand, no model was asked" in " ".join(output.split())
    words = " ".join(output.replace("│", "").split())
    spoken = [one.event for one in read_recording().snapshot.entries if isinstance(one.event, Spoke)]
    assert [event.text[-40:] in words for event in spoken] == [True] * 4
    assert output.index("Round 1: opening") < output.index("Verdict: Leaning")
    assert output.endswith(f"to be opened in a browser:\n{page}\n")
    assert "<!doctype html>" in page.read_text(encoding="utf-8").lower()[:200]
    assert read_recording().snapshot.id in page.read_text(encoding="utf-8")
    assert "There is no database" in cli("list").stderr  # and none was made


def test_the_readme_shows_what_the_replay_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = (ROOT / "README.md").read_text(encoding="utf-8").partition("== Recorded: ")[2]
    recorded = shown.partition("== Live: ")[0].partition(". ==\n")
    recording = read_recording()

    show_recording(recording, tmp_path / "demo.html")

    printed = capsys.readouterr().out
    for line in recorded[2].replace("~/.local/share/counterpoint", str(tmp_path)).splitlines():
        assert line.removesuffix(" …") in printed
    assert recorded[0].endswith(f"in its own\ntime, {recording.times[-1]:.0f} s")
