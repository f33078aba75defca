"""What errors advise can be done as it is written: tools, arguments, commands and settings that exist, and work."""

import ast
import re
from collections.abc import Iterator
from typing import Any

import click
import pytest
from pydantic import BaseModel

from docs.error_texts import ROOT, flatten
from server.cli.main import counterpoint
from server.debate.commands.requests import ChangesInput, DebateRequest
from server.settings import PREFIX, Settings
from server.tools.debates import TOOLS
from tests.support.client_calls import call, expect_tool_error

pytestmark = pytest.mark.requirement("N17", "N28")

ROOTS: dict[str, tuple[type[BaseModel], list[str]]] = {
    "options": (DebateRequest, ["options"]),
    "limits": (DebateRequest, ["options", "limits"]),
    "changes": (ChangesInput, []),
}
SIDES = [{"name": "Ada", "stance": "ship now"}, {"name": "Ben", "stance": "wait a week"}]
OTHER_VARIABLES = {"OFFLINE", "LOCAL_THREADS"}


def list_texts() -> Iterator[str]:
    """All texts of the code that are no docstrings."""
    for path in sorted((ROOT / "server").rglob("*.py")):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        inner = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
        inner |= {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
            if (is_text or isinstance(node, ast.JoinedStr)) and id(node) not in inner:
                assert isinstance(node, ast.expr)
                yield flatten(node, {})


def find_field(schema: dict[str, Any], here: dict[str, Any], name: str) -> dict[str, Any] | None:
    if "$ref" in here:
        here = schema["$defs"][here["$ref"].rpartition("/")[2]]
    if name in here.get("properties", {}):
        return dict(here["properties"][name])
    found = (find_field(schema, part, name) for part in here.get("anyOf", ()))
    return next((part for part in found if part is not None), None)


def has_field(written: str) -> bool:
    root, *names = written.rstrip(".").split(".")
    model, path = ROOTS[root]
    schema = here = model.model_json_schema()
    for name in (*path, *names):
        found = find_field(schema, here, name)
        if found is None:
            return False
        here = found
    return True


def find_unknown_options(words: str) -> list[str]:
    """The options of a command line that its command does not have, or the whole if there is no such command."""
    command: click.Command = counterpoint
    used = 0
    for word in words.split()[1:]:
        if not (isinstance(command, click.Group) and word.strip("`.,:;)") in command.commands):
            break
        command, used = command.commands[word.strip("`.,:;)")], used + 1
    known = {"--help", *(name for part in command.params for name in (*part.opts, *part.secondary_opts))}
    options = re.findall(r"--[a-z-]+", words)
    return [one for one in options if one not in known] if used else [words]


@pytest.mark.full
def test_every_name_that_a_text_advises_is_one_that_there_is() -> None:
    wrong: list[str] = []
    for text in list_texts():
        wrong += [
            one[0]
            for one in re.finditer(r"\b(?:options|limits|changes)\.[a-z_]+(?:\.[a-z_]+)*", text)
            if not has_field(one[0])
        ]
        variables = re.findall(rf"\b{PREFIX}([A-Z_]*[A-Z])\b", text)
        wrong += [
            one
            for one in variables
            if one not in OTHER_VARIABLES and one.lower() not in Settings.model_fields
        ]
        wrong += [one for one in re.findall(r"\b[Cc]all ([a-z]+_[a-z]+)\b", text) if one not in TOOLS]
        for line in re.findall(r"`(counterpoint [a-z][^`]*)`", text):
            wrong += find_unknown_options(line)
    assert wrong == []


@pytest.mark.full
@pytest.mark.anyio
async def test_the_round_that_a_refused_fork_names_is_one_that_a_fork_can_begin_after(
    open_modern: Any,
) -> None:
    async with open_modern() as client:
        asked = {"question": "Ship it?", "debaters": SIDES, "run": True}
        for form in ("advocates", "settle", "handoff"):
            debate_id = (await call(client, "start_debate", **asked, format=form))["debate_id"]
            told = await expect_tool_error(client, "fork_debate", debate_id=debate_id, at_round=99)
            found = re.search(r"[Pp]ass at_round=(\d+)(?:, or less)?\.$", told)
            assert found, told
            await call(client, "fork_debate", debate_id=debate_id, at_round=int(found[1]))
