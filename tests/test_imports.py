"""Imports point down only: the rooms of the house, who may enter which, and what furniture they hold."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.requirement("M7")

ROOT = Path(__file__).parents[1]
FILES = sorted(path.relative_to(ROOT) for top in ("server", "storage") for path in (ROOT / top).rglob("*.py"))

MAY_IMPORT: dict[str, str] = {
    # The core, and what stands beside it: neither knows anything of the other.
    "server.debate": "",
    "storage": "",
    "server.models": "server.debate server.retry_after",
    # What holds them together. Only the runner knows all three.
    "server.errors": "server.debate storage.journal",
    "server.ids": "",
    "server.retry_after": "",
    "server.owners": "",
    "server.settings": "server.debate",
    "server.research": "server.debate server.models server.settings",
    "server.questions": "server.debate server.models server.research",
    "server.leases": "server.errors server.owners storage.journal",
    "server.leased": "server.debate server.leases server.models server.questions",
    "server.daily": "server.debate server.errors storage.journal",
    "server.runner": (
        "server.daily server.debate server.errors server.models server.questions storage.journal"
    ),
    "server.work": "server.debate server.runner",
    "server.driving": "server.debate server.errors server.leased server.leases server.runner server.work",
    "server.hall": (
        "server.daily server.debate server.driving server.ids server.models server.questions "
        "server.research server.runner server.work storage.journal"
    ),
    "server.recovery": "server.errors server.hall storage.journal",
    "server.reading": "server.debate server.errors server.runner storage.journal",
    "server.forking": "server.debate server.errors server.hall server.runner",
    "server.exporting": "server server.debate server.errors server.hall server.runner storage.journal",
    # The faces: MCP, and the terminal.
    "server.tools": (
        "server.debate server.forking server.hall server.models server.reading server.runner server.work"
    ),
    "server.resources": "server.debate server.errors server.hall server.reading server.runner",
    "server.updates": "server.hall server.runner storage.journal",
    "server.hooks": (
        "server.debate server.errors server.hall server.owners server.retry_after server.runner "
        "server.settings storage.journal storage.outbox"
    ),
    "server.assembly": (
        "server.daily server.errors server.hall server.hooks server.models server.recovery server.research "
        "server.settings storage.outbox storage.sqlite"
    ),
    "server.app": "server.hall server.resources server.settings server.tools server.updates",
    "server.reporting": "server.settings",
    "server.serving": (
        "server.app server.assembly server.debate server.models server.reporting server.settings"
    ),
    "server.screen": "",
    "server.terminal": "server.debate server.hall server.models server.runner server.screen",
    "server.dialogue": "server.errors server.hall server.reading server.runner server.screen",
    "server.installing": "",
    "server.doctor": (
        "server.assembly server.debate server.errors server.hooks server.installing server.models "
        "server.research server.screen server.settings"
    ),
    "server.once": (
        "server server.assembly server.doctor server.hall server.models server.reporting server.settings"
    ),
    "server.asking": "server.debate",
    "server.debating": (
        "server server.asking server.debate server.dialogue server.hall server.models server.once "
        "server.runner server.screen server.settings server.terminal"
    ),
    "server.cli": (
        "server server.debate server.debating server.doctor server.errors server.exporting server.forking "
        "server.hall server.installing server.models server.once server.screen server.serving server.settings"
    ),
    "server.__main__": "server.cli server.serving",
    "server": "",
}
"""What of ours each room imports, beside itself. A room is a package or a file of `server`."""

LIBRARIES: dict[str, str] = {
    "server.debate": "jsonschema pydantic",
    "storage": "aiosqlite anyio rfc8785",
    "server.models": "anyio litellm platformdirs xllamacpp",
    "server.errors": "pydantic",
    "server.settings": "platformdirs pydantic",
    "server.research": "anyio httpx2 mcp pydantic",  # httpx2 is how mcp is told headers
    "server.questions": "anyio",
    "server.daily": "anyio",
    "server.leased": "anyio",
    "server.runner": "anyio",
    "server.work": "anyio",
    "server.driving": "anyio",
    "server.hall": "anyio",
    "server.recovery": "anyio",
    "server.forking": "pydantic",
    "server.exporting": "pydantic",
    "server.tools": "mcp pydantic",
    "server.resources": "mcp",
    "server.updates": "anyio mcp",
    "server.hooks": "anyio httpx2 pydantic yaml",
    "server.app": "mcp",
    "server.serving": "anyio mcp pydantic",
    "server.reading": "pydantic",
    "server.screen": "click",
    "server.terminal": "anyio click",
    "server.dialogue": "anyio click",
    "server.once": "anyio",
    "server.asking": "click pydantic",
    "server.debating": "click",
    "server.installing": "click platformdirs",
    "server.doctor": "anyio click mcp",
    "server.cli": "click",
}
"""The libraries of each room; a room that is not here has none."""

PURE = "collections dataclasses decimal fractions functools hashlib inspect itertools json math re typing"
"""What the core takes of the standard library: no clock, no chance, no input or output, no waiting."""

IMPURE_CALLS = {"open", "print", "input", "eval", "exec", "compile", "__import__", "breakpoint", "id", "hash"}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def room(path: Path) -> str:
    """The room a file is in: `storage`, `server.debate`, `server.hall` and so on."""
    module = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
    return "storage" if module.startswith("storage") else ".".join(module.split(".")[:2])


def imported(module: ast.Module) -> Iterator[str]:
    """The modules a file imports, wherever in it: in functions and by `import_module("…")` too."""
    for node in ast.walk(module):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(name), level=0):
                yield name
            case ast.ImportFrom():
                yield "a relative import"
            case ast.Call(func=ast.Name(id="import_module"), args=[ast.Constant(value=str(name)), *_]):
                yield name


def rooms_of(name: str) -> str:
    """The room of ours that a module is in; of storage the very module, of others its package."""
    parts = name.split(".")
    return name if parts[0] == "storage" else ".".join(parts[:2])


@cache
def imports_of(one: str) -> set[str]:
    return {name for path in FILES if room(path) == one for name in imported(tree(path))}


def ours(one: str) -> set[str]:
    """What of ours a room imports, beside itself. `server` itself is the one room that holds others."""
    mine = {name for name in imports_of(one) if name.split(".")[0] in ("server", "storage")}
    return {rooms_of(name) for name in mine if not f"{name}.".startswith(f"{one}.")}


def libraries(one: str) -> set[str]:
    tops = {name.split(".")[0] for name in imports_of(one)}
    return {top for top in tops if top not in sys.stdlib_module_names | {"server", "storage"}}


ROOMS = sorted({room(path) for path in FILES})


def test_every_room_is_in_the_table_and_every_entry_is_a_room() -> None:
    assert sorted(MAY_IMPORT) == ROOMS
    assert set(LIBRARIES) <= set(ROOMS)


@pytest.mark.parametrize("one", ROOMS)
def test_a_room_imports_what_its_row_says_and_nothing_else(one: str) -> None:
    assert sorted(ours(one)) == MAY_IMPORT[one].split()


@pytest.mark.parametrize("one", ROOMS)
def test_a_room_uses_the_libraries_of_its_row_and_no_others(one: str) -> None:
    assert sorted(libraries(one)) == LIBRARIES.get(one, "").split()


def test_imports_point_down_only() -> None:
    above: dict[str, set[str]] = {}
    for one, allowed in MAY_IMPORT.items():
        below = {"storage" if name.startswith("storage") else name for name in allowed.split()}
        above[one] = below - {one}
    while above:
        ground = {one for one, below in above.items() if not below}
        assert ground, f"these import each other in a circle: {sorted(above)}"
        above = {one: below - ground for one, below in above.items() if one not in ground}


def test_only_the_runner_and_those_above_it_know_core_models_and_storage() -> None:
    all_three = {"server.debate", "server.models", "storage"}
    knowing = {
        one
        for one, allowed in MAY_IMPORT.items()
        if all_three <= {"storage" if name.startswith("storage") else name for name in allowed.split()}
    }
    assert knowing == {"server.runner", "server.hall"}


def test_only_the_composition_root_knows_the_database() -> None:
    assert [one for one, allowed in MAY_IMPORT.items() if "storage.sqlite" in allowed] == ["server.assembly"]


@pytest.mark.parametrize("path", [path for path in FILES if room(path) == "server.debate"], ids=str)
def test_the_core_is_pure(path: Path) -> None:
    module = tree(path)
    tops = {name.split(".")[0] for name in imported(module)}
    assert tops <= {*PURE.split(), "jsonschema", "pydantic", "server"}
    for node in ast.walk(module):
        assert not isinstance(
            node, ast.Await | ast.AsyncFunctionDef | ast.AsyncFor | ast.AsyncWith | ast.Global
        )
        assert not (isinstance(node, ast.Call) and getattr(node.func, "id", "") in IMPURE_CALLS), node.lineno


def test_what_the_core_may_use_it_does_use() -> None:
    tops = {name.split(".")[0] for name in imports_of("server.debate")}
    assert sorted(tops - {"jsonschema", "pydantic", "server"}) == PURE.split()


def test_no_file_is_called_utils() -> None:
    assert not [path for path in FILES if path.stem in ("utils", "util", "helpers", "common", "misc")]


@pytest.mark.parametrize("path", FILES, ids=str)
def test_a_file_is_under_400_lines_and_a_function_under_50(path: Path) -> None:
    assert len((ROOT / path).read_text(encoding="utf-8").splitlines()) <= 400
    long = [
        f"{node.name}: {lines}"
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or 0) - node.lineno + 1) >= 50
    ]
    assert not long


def test_commands_of_the_terminal_do_not_wait_for_mcp() -> None:
    program = "import sys, server.cli, server.once, server.assembly; print('mcp' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_the_server_starts_without_what_takes_long_to_import() -> None:
    slow = ("jsonschema", "litellm", "rich", "xllamacpp")
    program = f"import sys, server.app; print(*(m for m in {slow} if m in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
