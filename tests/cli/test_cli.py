"""The command line, on the scripted model and a database of the test's own."""

import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from server.cli.debates.debate import start_debate
from server.cli.live.display import LiveDisplay
from server.cli.live.result import print_summary
from server.cli.live.run import run_and_display
from server.cli.terminal import Terminal
from server.compose import open_manager
from server.models import OnText, Reply, Request
from server.models.fakes.scripted import ScriptedModel
from server.settings import Settings
from tests.support.patience import PATIENCE
from tests.support.servers import Cli
from tests.support.simulation import build_request


@pytest.fixture
def finished(cli: Cli) -> dict[str, Any]:
    """The outcome of a whole debate."""
    result = cli("debate", "Is tea better than coffee?", "--model", "scripted", "--json")
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.stdout))


@pytest.mark.requirement("M5")
def test_a_debate_shows_its_turns_and_ends_with_the_verdict(cli: Cli) -> None:
    sides = ["--debater", "Ada: tabs", "--debater", "Bob: spaces"]

    result = cli("debate", "Tabs?", *sides, "--model", "scripted")

    assert (result.exit_code, result.stderr) == (0, "")
    shown = result.stdout
    steps = ['Ada: "tabs" (scripted)', "== Round 1: opening ==", 'Bob ("spaces")', "== Round 2: rebuttal"]
    steps += ["judge 1, reading 2: for", "Leaning (1 of 1 judge", "counterpoint show "]
    assert [shown.index(step) for step in steps] == sorted(shown.index(step) for step in steps)
    assert max(map(len, shown.splitlines())) <= 100
    assert not set("\x1b\r") & set(result.output)  # neither colour nor bar without a terminal


@pytest.mark.requirement("M5")
def test_json_is_one_object_and_nothing_else(finished: dict[str, Any]) -> None:
    assert list(finished) == ["debate_id", "state", "result", "verdict", "provenance"]
    assert finished["state"]["status"] == "concluded"
    assert len(finished["result"]["transcript"]) == 4
    assert finished["verdict"]["outcome"] == "leaning"


@pytest.mark.requirement("M5")
def test_quiet_prints_the_verdict_only(cli: Cli) -> None:
    result = cli("debate", "Tabs?", "--model", "scripted", "--quiet")

    assert result.stdout.lstrip().startswith("Leaning (")
    assert "Round 1" not in result.stdout


@pytest.mark.parametrize(
    ("turns", "bar", "streams"), [(True, True, True), (True, False, False), (False, True, False)]
)
@pytest.mark.requirement("M5")
@pytest.mark.asyncio
async def test_replies_are_streamed_only_for_a_bar(
    database: str, turns: bool, bar: bool, streams: bool
) -> None:
    streamed: set[bool] = set()

    class StreamRecorder(ScriptedModel):
        async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
            streamed.add(on_text is not None)
            return await super().reply(request, on_text)

    request = build_request(question="Tabs?", models=["mine"], run=True)
    async with open_manager(Settings(db=database), {"mine": StreamRecorder()}) as manager:
        out = Terminal(io.StringIO(), is_terminal=True)
        display = LiveDisplay(out, bar=out if bar else None, show_turns=turns)
        await run_and_display(partial(start_debate, request), display, manager)

    assert streamed == {streams}


@pytest.mark.requirement("A4", "B7")
def test_each_debater_and_judge_can_have_a_model_of_its_own(cli: Cli) -> None:
    arguments = ["--debater", "Ada=scripted?chars=90: tabs", "--debater", "Bob: spaces: two of them"]
    arguments += [
        "--model",
        "scripted?chars=80",
        "--judge-model",
        "scripted",
        "--judge-model",
        "scripted?chars=70",
    ]

    state = json.loads(cli("debate", "Tabs?", *arguments, "--json").stdout)["state"]

    assert [(seat["name"], seat["stance"], seat["model"]) for seat in state["debaters"]] == [
        ("Ada", "tabs", "scripted?chars=90"),
        ("Bob", "spaces: two of them", "scripted?chars=80"),
    ]
    assert state["judges"] == ["judge 1: scripted", "judge 2: scripted?chars=70"]


@pytest.mark.requirement("M5")
def test_options_become_the_set_up_of_the_debate(cli: Cli, tmp_path: Path) -> None:
    plan = tmp_path / "plan.md"
    plan.write_text("Ship it on Monday, für alle.", encoding="utf-8")
    arguments = ["--format", "verdict", "--rounds", "1", "--judges", "2", "--seed", "7", "--timeout", "9"]
    arguments += ["--document", str(plan), "--instructions", "Be brief.", "--model", "scripted", "--json"]

    debate_id = json.loads(cli("debate", "Ship?", *arguments).stdout)["debate_id"]
    setup = json.loads(cli("export", debate_id, "--as", "json").stdout)["entries"][0]["body"]

    stored = [setup[name] for name in ("format", "max_rounds", "seed", "turn_timeout")]
    assert stored == ["verdict", 1, 7, 9]
    assert setup["judges"]["models"] == ["scripted", "scripted"]
    (document,) = setup["documents"]
    assert (document["title"], document["text"]) == ("plan.md", "Ship it on Monday, für alle.")
    assert setup["instructions"] == "Be brief."


@pytest.mark.requirement("D3")
def test_a_paused_debate_exits_with_1_and_says_why_and_how_to_go_on(cli: Cli) -> None:
    result = cli("debate", "Tabs?", "--model", "scripted?delay=60", "--timeout", "1", "--json")

    assert result.exit_code == 1
    outcome = json.loads(result.stdout)
    assert outcome["state"]["status"] == "paused"
    assert f"counterpoint debate --continue {outcome['debate_id']}" in result.stderr
    again = cli("debate", "--continue", outcome["debate_id"], "--json")
    log = json.loads(cli("show", outcome["debate_id"], "--view", "events").stdout)["events"]
    kinds = [row["kind"] for row in log]
    assert again.exit_code == 1
    assert (kinds.count("paused"), kinds.count("resumed")) == (2, 1)


@pytest.mark.requirement("M3")
def test_debates_are_listed_newest_first_and_found_by_their_words(cli: Cli, finished: dict[str, Any]) -> None:
    cli("debate", "Ships or trains?", "--model", "scripted", "--quiet")

    lines = cli("list").stdout.splitlines()

    assert all('  Leaning: "' in line for line in lines)
    assert [line.split("  ")[-1] for line in lines] == ['"Ships or trains?"', '"Is tea better than coffee?"']
    assert cli("list", "tea coffee").stdout.startswith(finished["debate_id"])
    assert len(cli("list", "--limit", "1", "--status", "concluded").stdout.splitlines()) == 1
    assert cli("list", "--status", "paused").stdout == ""
    rows = json.loads(cli("list", "tea", "--json").stdout)["debates"]
    assert [row["debate_id"] for row in rows] == [finished["debate_id"]]


@pytest.mark.requirement("M3")
def test_a_list_is_narrowed_by_what_the_page_narrows_it_by(cli: Cli, finished: dict[str, Any]) -> None:
    debate_id, outcome = finished["debate_id"], finished["state"]["outcome"]
    cli("tag", debate_id, "drinks")
    cli("debate", "Ships or trains?", "--model", "scripted?chars=300", "--quiet")

    for narrowed in (("--outcome", outcome, "tea"), ("--tag", "drinks"), ("--model", "scripted")):
        assert cli("list", *narrowed).stdout.startswith(debate_id)
        assert len(cli("list", *narrowed).stdout.splitlines()) == 1
    for unfit in (("--tag", "release"), ("--cost", "0.01"), ("--outcome", "contested")):
        none = cli("list", *unfit)
        assert (none.stdout, none.stderr) == ("", "No debate matches.\n")


@pytest.mark.requirement("M3")
def test_a_debate_can_be_shown_in_every_view(cli: Cli, finished: dict[str, Any]) -> None:
    shown = cli("show", finished["debate_id"]).stdout

    assert shown.startswith('"Is tea better than coffee?"\n====')
    assert "Leaning (1 of 1 judge" in shown
    assert "**" not in shown
    verdict = cli("show", finished["debate_id"], "--view", "verdict").stdout
    assert verdict.startswith("Verdict\n----")
    assert verdict.count("Leaning") == 1
    assert json.loads(cli("show", finished["debate_id"], "--view", "state").stdout)["status"] == "concluded"
    assert len(json.loads(cli("show", finished["debate_id"], "--json").stdout)["turns"]) == 4


@pytest.mark.requirement("N19")
def test_a_page_is_one_file_with_the_record_in_it(cli: Cli, finished: dict[str, Any], tmp_path: Path) -> None:
    target = tmp_path / "debate.html"
    assert cli("export", finished["debate_id"][:6], "--as", "html", "-o", str(target)).exit_code == 0
    page = target.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert found is not None
    [debate] = json.loads(found[1])["debates"]
    assert "<" not in found[1]
    assert debate["question"] == "Is tea better than coffee?"
    assert (
        debate["entries"]
        == json.loads(cli("export", finished["debate_id"], "--as", "json").stdout)["entries"]
    )
    family = cli("export", finished["debate_id"], "--as", "html", "--family").stdout
    assert family.startswith("<!doctype html>")


@pytest.mark.requirement("N19")
def test_only_a_page_holds_a_family(cli: Cli, finished: dict[str, Any]) -> None:
    refused = cli("export", finished["debate_id"], "--as", "json", "--family")
    assert refused.exit_code == 2
    assert "--family needs --as html" in refused.stderr


@pytest.mark.requirement("M3")
def test_an_export_holds_every_event_and_its_hash(cli: Cli, finished: dict[str, Any], tmp_path: Path) -> None:
    target = tmp_path / "debate.json"
    target.write_text("something older", encoding="utf-8")

    result = cli("export", finished["debate_id"], "--as", "json", "-o", str(target))

    assert (result.exit_code, result.output) == (0, "")
    exported = json.loads(target.read_text(encoding="utf-8"))
    assert exported["question"] == "Is tea better than coffee?"
    assert exported["counterpoint"] == "debate/1"
    assert [row["seq"] for row in exported["entries"]] == list(range(1, exported["receipt"]["entries"] + 1))
    assert exported["entries"][-1]["hash"] == exported["receipt"]["head"]
    assert exported["result"] == finished["result"]
    assert [path.name for path in tmp_path.glob("*debate.json*")] == ["debate.json"]
    assert cli("export", finished["debate_id"]).stdout.startswith('# "Is tea better than coffee?"')


@pytest.mark.requirement("M5")
def test_a_closed_pipe_is_no_error(cli: Cli, finished: dict[str, Any]) -> None:
    assert cli("list").exit_code == 0
    command = [sys.executable, "-m", "counterpoint", "show", finished["debate_id"]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        errors = child.stderr.read()
        child.wait(timeout=PATIENCE)

    assert errors == b""


@pytest.mark.requirement("M5")
def test_the_version_is_printed(cli: Cli) -> None:
    assert re.fullmatch(r"counterpoint \d[\w.]*\n", cli("--version").stdout)


@pytest.mark.requirement("B7")
def test_models_list_says_what_a_debate_would_use_and_why(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "a-secret-of-mine")
    by_key = cli("models", "list").stdout
    monkeypatch.setenv("COUNTERPOINT_MODELS", "scripted,ollama/llama3.3")
    by_setting = cli("models", "list").stdout

    assert re.match(
        r"mistral/mistral-large-latest  \(MISTRAL_API_KEY is set; reads [\d,]+ tokens\)\n", by_key
    )
    assert by_setting.startswith("scripted  (COUNTERPOINT_MODELS)\nollama/llama3.3  (COUNTERPOINT_MODELS)\n")
    monkeypatch.setenv("COUNTERPOINT_WINDOWS", '{"scripted": 4096}')
    with_window = cli("models", "list").stdout
    assert with_window.startswith("scripted  (COUNTERPOINT_MODELS; reads 4,096 tokens)\n")
    assert "secret" not in by_key + by_setting


@pytest.mark.requirement("M4", "N10")
@pytest.mark.usefixtures("finished")
def test_the_doctor_finds_that_a_debate_can_run(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERPOINT_MODELS", "scripted")
    monkeypatch.setenv("COUNTERPOINT_DAILY_CALLS", "100")
    monkeypatch.setenv("OPENAI_API_KEY", "a-secret-of-mine")

    result = cli("doctor", "--json")

    found = json.loads(result.stdout)
    checks = {check["name"]: check for check in found["checks"]}
    assert (result.exit_code, found["ok"]) == (0, True)
    [held] = json.loads(cli("list", "--json").stdout)["debates"]
    assert f", newest debate {held['debate_id']} of 20" in checks["database"]["detail"]
    assert re.match(r"\d+ tools, \d+ ms", checks["mcp"]["detail"])
    assert checks["today"]["detail"] == "10 calls of 100 allowed, $0 (since midnight, UTC)"
    assert checks["keys"]["detail"] == "OPENAI_API_KEY (from the environment)"
    assert checks["models"]["detail"] == "scripted (COUNTERPOINT_MODELS)"
    assert checks["a debate"]["detail"].startswith("4 to 8 calls, ")
    assert "secret" not in result.output


@pytest.mark.requirement("M4")
def test_the_doctor_finds_what_is_broken(cli: Cli, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERPOINT_MODELS", "openai/gpt-4o")
    Path(database).write_text("no database, and longer than the header of one is" * 9, encoding="utf-8")

    result = cli("doctor")

    failed = [line.split()[1] for line in result.stdout.splitlines() if line.startswith("FAIL")]
    assert result.exit_code == 1
    assert failed == ["database", "models", "mcp"]
    words = " ".join(result.stdout.split())
    assert "openai/gpt-4o needs a key, and OPENAI_API_KEY is not set" in words


@pytest.mark.requirement("M8")
@pytest.mark.asyncio
async def test_a_verdict_of_a_model_too_small_to_judge_is_printed_after_a_warning(database: str) -> None:
    class Small(ScriptedModel):
        async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
            return replace(await super().reply(request, on_text), informative=False)

    out = Terminal(io.StringIO())
    request = build_request(question="Tabs?", models=["mine"], format="verdict", max_rounds=1, run=True)
    async with open_manager(Settings(db=database), {"mine": Small()}) as manager:
        starter = partial(start_debate, request)
        print_summary(await run_and_display(starter, LiveDisplay(out), manager), out)

    assert isinstance(out.file, io.StringIO)
    shown = out.file.getvalue()
    assert shown.index("far too small to judge") < shown.index("Open: ")


@pytest.mark.requirement("M5")
def test_every_command_finds_a_debate_by_the_beginning_of_its_id_and_the_latest(
    cli: Cli, finished: dict[str, Any]
) -> None:
    whole = finished["debate_id"]
    commands = (
        "show ID",
        "tag ID billing",
        "export ID",
        "compare ID ID",
        "watch ID",
        "fork ID --at-round 1",
        "debate --continue ID",
    )
    for command in commands:
        shown, latest, missing = (
            cli(*command.replace("ID", found).split()) for found in (whole[:4], "latest", whole[:3])
        )

        assert (shown.exit_code, shown.stderr) == (0, ""), command
        assert (latest.exit_code, latest.stderr) == (0, ""), command
        assert missing.exit_code != 0
        assert f"There is no debate '{whole[:3]}'" in missing.stderr
