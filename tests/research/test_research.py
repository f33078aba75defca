"""Tools and results of research servers, which are real child processes."""

import json
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from server.cli.main import counterpoint
from server.debate.facts.answers import Lookup
from server.debate.facts.errors import InvalidRequestError
from server.debate.prompts.prompt import FunctionCall
from server.settings import ResearchServer
from tests.support.processes.research_client import build_server_config, call_research_tool, open_research

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("C6")]


# What may be requested -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "debater", "expected"),
    [
        (["nobody"], False, "There is no research server 'nobody'. Configured: library, notes."),
        (["notes", "nobody/x"], False, "Configured: library, notes."),
        (["notes/"], False, "has no allowed tool ''. Allowed: NAME or NAME/tool."),
        (["library/burn"], False, "has no allowed tool 'burn'. Allowed: find, open."),
        (["notes"], True, "set debaters = true in mcpServers.notes."),
    ],
)
async def test_unknown_and_disallowed_tools_are_refused(
    names: list[str], debater: bool, expected: str
) -> None:
    library = build_server_config("bad", tools=["find", "open"], debaters=True)

    async with open_research(notes=build_server_config("bad"), library=library) as research:
        research.check(["notes", "notes/anything", "library/find"])
        research.check(["library"], for_debater=True)
        with pytest.raises(InvalidRequestError) as refused:
            research.check(names, for_debater=debater)

    assert str(refused.value).endswith(expected)
    assert not research.connections


async def test_without_servers_the_refusal_says_where_to_name_some() -> None:
    async with open_research() as research:
        with pytest.raises(InvalidRequestError, match="None is configured: see mcpServers in the settings"):
            research.check(["notes"])


# What is offered -------------------------------------------------------------------------------------


async def test_tools_are_offered_as_functions_that_providers_accept() -> None:
    async with open_research(bad=build_server_config("wordy")) as research:
        functions = await research.list_functions(["bad"])

    names = [function.name for function in functions]
    assert names[:3] == ["bad__pid__odd_", "bad__child", "bad__pid__odd__2"]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in names)
    assert len(set(names)) == len(names)
    assert "bad__endless" not in names  # its schema is too large
    assert {len(function.description) for function in functions} == {500}
    assert functions[0].description.startswith("All of it. All")
    assert functions[0].parameters["type"] == "object"


async def test_only_named_and_allowed_tools_are_offered() -> None:
    async with open_research(
        one=build_server_config("bad", tools=["pid", "die"]), two=build_server_config("bad")
    ) as research:
        functions = await research.list_functions(["one", "two/big", "two/gone"])
        problems = research.find_problems(["one", "two/big", "two/gone"])
        other = await research.look_up(FunctionCall("two__pid", "{}"), ["one", "two/big"])

    assert [function.name for function in functions] == ["one__pid", "one__die", "two__big"]
    assert problems == ("The research server two has no tool 'gone'.",)
    assert other.failed == "there is no such function; there are: one__pid, one__die, two__big"


async def test_no_more_than_32_functions_are_offered() -> None:
    bad = build_server_config("bad")
    async with open_research(a=bad, b=bad, c=bad, d=bad) as research:
        assert len(await research.list_functions(["a", "b", "c"])) == 32
        assert sorted(research.connections) == ["a", "b", "c"]  # only those asked for are started


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        (build_server_config("broken"), "it ended (exit code 3)"),
        (build_server_config("silent").model_copy(update={"timeout": 0.2}), "it did not answer within 0.2 s"),
        (ResearchServer(command="/no/such/program"), "it cannot be started: No such file or directory"),
        (build_server_config("bad", cwd="/no/such/place"), "it cannot be started: No such file or directory"),
        (ResearchServer(url="http://127.0.0.1:9/mcp?key=mine"), "it cannot be reached (ConnectError)"),
    ],
)
async def test_an_unusable_server_blocks_no_other(server: ResearchServer, problem: str) -> None:
    async with open_research(bad=server, good=build_server_config("bad", tools=["pid"])) as research:
        functions = await research.list_functions(["bad", "good"])
        tried = research.connections["bad"]
        lookup = await research.look_up(FunctionCall("bad__x", "{}"), ["bad"])
        again = research.connections["bad"]
        problems = research.find_problems(["bad", "good"])

    assert [function.name for function in functions] == ["good__pid"]
    assert problems == (f"The research server bad cannot be used: {problem}.",)
    assert (
        lookup.failed == f"there is no function to call. The research server bad cannot be used: {problem}."
    )
    assert again is tried  # not every question waits for it


async def test_a_server_that_could_not_be_used_is_tried_again_after_a_pause(tmp_path: Path) -> None:
    program = tmp_path / "server"

    async with open_research(pause=0, late=ResearchServer(command=str(program))) as research:
        assert await research.list_functions(["late"]) == ()
        program.write_text(
            f"#!/bin/sh\nexec '{sys.executable}' '{build_server_config('bad').args[0]}' bad\n",
            encoding="utf-8",
        )
        program.chmod(0o755)

        assert len(await research.list_functions(["late"])) > 0
        assert research.find_problems(["late"]) == ()


# Results of calls ------------------------------------------------------------------------------------


async def test_results_of_a_server_on_the_sdk_are_read() -> None:
    async with open_research(
        sdk=build_server_config("sdk", env={"NOTES_API_KEY": "my-key-1234"})
    ) as research:
        sum_ = await call_research_tool(research, "sdk__add", a=1, b=2)
        structured = await call_research_tool(research, "sdk__structured")
        picture = await call_research_tool(research, "sdk__picture")
        failed = await call_research_tool(research, "sdk__fail")
        wrong = await call_research_tool(research, "sdk__add", a="one")

    assert sum_ == Lookup(
        tool="sdk/add", arguments='{"a": 1, "b": 2}', result="1 + 2 = 3", milliseconds=sum_.milliseconds
    )
    assert structured.result == '{"answer": 42}'
    assert picture.failed == "the tool returned image, and no text"
    assert failed.failed == "the tool failed: Error executing tool fail: the key [secret] has no credit"
    assert wrong.failed.startswith("the tool failed: Error executing tool add: ")
    assert len(wrong.failed) <= 320


@pytest.mark.parametrize(
    ("name", "arguments", "failed"),
    [
        ("bad__nobody", "{}", "there is no such function; there are: bad__pid"),
        ("bad__pid", '{"a":', "the arguments of bad__pid are not JSON: Expecting value"),
        ("bad__pid", "[" * 3000, "the arguments of bad__pid are not JSON: "),
        ("bad__pid", "[]", "the arguments of bad__pid must be a JSON object"),
        ("bad__pid", json.dumps({"a": "x" * 4000}), "bad__pid have 4,009 characters; 4,000 are allowed"),
    ],
)
async def test_an_invalid_call_is_reported_to_the_model(name: str, arguments: str, failed: str) -> None:
    async with open_research(bad=build_server_config("bad", tools=["pid"])) as research:
        lookup = await research.look_up(FunctionCall(name, arguments), ["bad"])

    assert failed in lookup.failed
    assert lookup.result == ""
    assert lookup.arguments == arguments[:4000]


async def test_a_long_result_is_cut() -> None:
    async with open_research(bad=build_server_config("bad")) as research:
        whole = await call_research_tool(research, "bad__big", size=8000)
        longer = await call_research_tool(research, "bad__big", size=8001)
        five_megabytes = await call_research_tool(research, "bad__big", size=5_000_000)

    assert (len(whole.result), whole.cut) == (8000, False)
    assert [(len(each.result), each.cut) for each in (longer, five_megabytes)] == [(8000, True)] * 2


async def test_keys_that_a_server_was_given_are_not_in_what_it_returns() -> None:
    server = build_server_config("bad", env={"NOTES_API_KEY": "my-key-1234", "NOTES_PATH": "/my/notes"})

    async with open_research(bad=server) as research:
        environment = json.loads((await call_research_tool(research, "bad__environment")).result)

    assert environment["NOTES_API_KEY"] == "[secret]"
    assert environment["NOTES_PATH"] == "/my/notes"
    assert not [name for name in environment if name.startswith("COUNTERPOINT_")]


async def test_requests_of_a_server_are_refused() -> None:
    async with open_research(bad=build_server_config("bad")) as research:
        answer = json.loads((await call_research_tool(research, "bad__ask")).result)

    assert answer["message"] == "List roots not supported"


async def test_invalid_lines_and_notifications_are_ignored(capfd: pytest.CaptureFixture[str]) -> None:
    async with open_research(bad=build_server_config("bad")) as research:
        assert (await call_research_tool(research, "bad__chatter")).result == "done"
        assert (await call_research_tool(research, "bad__flood", size=2000)).result == "done"
        assert (await call_research_tool(research, "bad__nothing")).model_dump(
            include={"result", "failed"}
        ) == {"result": "", "failed": ""}

    assert tuple(capfd.readouterr()) == ("", "")


async def test_a_server_that_exits_at_an_unknown_method_gets_the_older_handshake() -> None:
    async with open_research(old=build_server_config("old")) as research:
        assert (await call_research_tool(research, "old__pid")).result.isdigit()


# Third-party servers, and the doctor ------------------------------------------------------------------


def test_the_doctor_asks_each_server_for_its_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    servers = {
        "notes": build_server_config("bad", tools=["pid"]).model_dump(),
        "gone": build_server_config("broken", env={"KEY": "my-key"}).model_dump(),
    }
    monkeypatch.setenv("COUNTERPOINT_DB", str(tmp_path / "debates.db"))
    monkeypatch.setenv("COUNTERPOINT_MODELS", "scripted")
    monkeypatch.setenv("COUNTERPOINT_MCP_SERVERS", json.dumps(servers))

    result = CliRunner().invoke(counterpoint, ["doctor"])

    assert result.exit_code == 0, result.output
    assert re.findall(r"^(\S+) +research +(.*)$", result.stdout, re.MULTILINE) == [
        ("ok", "notes: 1 tool"),
        ("-", "gone: it ended (exit code 3)"),
    ]
    assert "my-key" not in result.output
