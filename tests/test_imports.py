"""Imports point down only: what each room may import, and what the core may use.

`python -m tests.support.import_graph` prints the graph.
"""

import ast
import subprocess
import sys

import pytest

from server.optional import PURPOSES
from tests.support.import_graph import (
    FILES,
    MODULES,
    TOP_LEVEL_PACKAGES,
    find_imports,
    find_imports_at_start,
    imports_by_package,
    is_of,
    package_dependencies,
    package_of_module,
    parse_module,
    render_report,
)
from tests.support.paths import ROOT

pytestmark = [pytest.mark.requirement("M7"), pytest.mark.full]  # they parse all of our code

ROOMS = {
    "background_tasks": ("", "anyio"),
    "turns": ("", ""),
    "debate": ("", "jsonschema_rs pydantic pydantic_core typing_extensions"),  # the last for types alone
    "files": ("", ""),
    "http": ("", ""),
    "redaction": ("", "pydantic"),
    "server": ("", ""),
    "storage": ("", "aiosqlite anyio asyncpg rfc8785"),
    "models": (
        "background_tasks debate files http redaction turns",
        "aiohttp anyio httpx2 keyring litellm platformdirs xllamacpp",
    ),
    "settings": ("debate redaction storage", "platformdirs pydantic"),
    "caller": ("storage", "mcp"),
    "optional": ("settings", ""),
    "signing": ("debate redaction storage", "cryptography platformdirs"),
    "access": ("caller debate files settings storage", "anyio httpx2 jwt mcp pydantic"),
    "client_configs": ("debate settings", "anyio mcp platformdirs ruamel tomlkit"),
    "research": (
        "background_tasks debate redaction settings",
        "anyio cssselect2 httpx2 mcp pydantic pypdf tinycss2 tinyhtml5",
    ),
    "engine": (
        "background_tasks debate models redaction research settings signing storage turns",
        "anyio pydantic pydantic_core rfc8785",
    ),
    "hooks": (
        "background_tasks debate engine http redaction settings storage",
        "anyio httpx2 pydantic ruamel",
    ),
    "telemetry": (
        "debate engine models redaction settings storage",
        "anyio mcp opentelemetry prometheus_client pydantic",
    ),
    "tools": ("caller debate engine models redaction", "anyio mcp pydantic"),
    "upkeep": ("debate engine files storage", "anyio"),
    "web": (
        "background_tasks debate engine models redaction research storage",
        "anyio pydantic sse_starlette starlette uvicorn",
    ),
    "startup": ("debate engine hooks optional redaction settings storage telemetry upkeep", ""),
    "compose": (
        "debate engine hooks models optional redaction research settings signing startup storage telemetry upkeep",
        "",
    ),
    "evaluation": ("debate engine", "anyio pydantic"),
    "mcp": (
        "background_tasks caller compose debate engine models redaction settings startup storage tools web",
        "anyio mcp pydantic",
    ),
    "http_server": (
        (
            "access background_tasks caller compose debate engine mcp models optional redaction settings startup "
            "storage telemetry tools turns web"
        ),
        "anyio mcp sse_starlette starlette uvicorn",
    ),
    "cli": (
        (
            "access caller client_configs compose debate engine evaluation files hooks http_server mcp models optional "
            "redaction research settings signing startup storage upkeep web"
        ),
        "anyio click pydantic rich",
    ),
    "__main__": ("cli mcp", ""),
    "counterpoint": ("__main__ models", ""),
}
"""What each room imports of ours, and the libraries that it uses, from the bottom up."""

PURE = (
    "abc bisect collections contextlib csv dataclasses decimal fractions functools hashlib inspect itertools json math "
    "re typing unicodedata"
)
"""What the core takes of the standard library: no clock, no chance, no input or output, no waiting."""

IMPURE_CALLS = {"open", "print", "input", "eval", "exec", "compile", "__import__", "breakpoint", "id", "hash"}
CORE = [path for path in FILES if path.is_relative_to("server/debate")]


def collect_by_room(found: dict[str, set[str]]) -> dict[str, set[str]]:
    rooms: dict[str, set[str]] = {}
    for unit, names in found.items():
        rooms.setdefault(find_room(unit), set()).update(names)
    return rooms


def find_room(unit: str) -> str:
    return unit.split(".", maxsplit=1)[0]


def test_a_room_imports_what_its_row_says_and_nothing_else() -> None:
    found = collect_by_room(package_dependencies())
    named = {room: {find_room(unit) for unit in units} - {room} for room, units in found.items()}
    assert named == {room: {*ours.split()} for room, (ours, _) in ROOMS.items()}


def test_a_room_uses_the_libraries_of_its_row_and_no_others() -> None:
    found = collect_by_room(imports_by_package())
    tops = {room: {name.split(".")[0] for name in names} for room, names in found.items()}
    known = sys.stdlib_module_names | {*TOP_LEVEL_PACKAGES}
    assert {room: names - known for room, names in tops.items()} == {
        room: {*libraries.split()} for room, (_, libraries) in ROOMS.items()
    }


def test_the_table_has_every_room_below_those_that_import_it() -> None:
    order = list(ROOMS)
    for room, (ours, _) in ROOMS.items():
        assert [other for other in ours.split() if order.index(other) >= order.index(room)] == []


WHO_IMPORTS_WHAT_IS_OPTIONAL = {
    "server.access": "cli http_server",
    "server.evaluation": "cli",
    "server.hooks": "cli compose startup",
    "server.http_server": "cli",
    "server.telemetry": "compose http_server startup",
    "server.upkeep": "cli compose startup",
    "storage.postgres": "startup",
}
"""The rooms that import packages which an installation may lack: nothing of the core, which runs without them."""


@pytest.mark.parametrize("package", PURPOSES)
def test_a_package_that_may_be_missing_is_imported_where_its_row_says(package: str) -> None:
    importing = {
        find_room(package_of_module(module))
        for module, path in MODULES.items()
        if not is_of(module, package) and any(is_of(name, package) for name in find_imports(path))
    }
    assert importing == {*WHO_IMPORTS_WHAT_IS_OPTIONAL[package].split()}


def test_what_may_be_missing_is_imported_only_when_it_is_needed() -> None:
    eager = {
        (str(path), name)
        for module, path in MODULES.items()
        for name in find_imports_at_start(path)
        for package in PURPOSES
        if is_of(name, package) and not any(is_of(module, other) for other in PURPOSES)
    }
    assert eager == set()


def test_the_report_names_no_circle_within_rooms_either() -> None:
    assert render_report().splitlines()[0].endswith("no circle")


def test_only_the_composition_root_and_upkeep_know_the_databases() -> None:
    databases = ("storage.postgres", "storage.sqlite")
    knowing = [
        one
        for one, others in package_dependencies().items()
        if not one.startswith(databases) and any(other.startswith(databases) for other in others)
    ]
    assert sorted(knowing) == ["startup", "upkeep"]


def test_the_core_waits_for_nothing_and_calls_nothing_that_knows_more_than_its_arguments() -> None:
    waiting = ast.Await | ast.AsyncFunctionDef | ast.AsyncFor | ast.AsyncWith | ast.Global
    assert [
        f"{path}:{node.lineno}"
        for path in CORE
        for node in ast.walk(parse_module(path))
        if isinstance(node, waiting)
        or (isinstance(node, ast.Call) and getattr(node.func, "id", "") in IMPURE_CALLS)
    ] == []


def test_the_core_uses_of_the_standard_library_what_is_pure() -> None:
    tops = {name.split(".")[0] for path in CORE for name in find_imports(path)}
    assert sorted(tops - {"server", *ROOMS["debate"][1].split()}) == PURE.split()


def test_no_file_is_called_utils() -> None:
    assert not [path for path in FILES if path.stem in ("utils", "util", "helpers", "common", "misc")]


def loaded(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_commands_of_the_terminal_do_not_wait_for_mcp() -> None:
    commands = "server.cli.main, server.cli.session, server.compose"
    assert loaded(f"import sys, {commands}; print('mcp' in sys.modules)") == "False"


def test_the_server_starts_without_what_takes_long_to_import() -> None:
    slow = [
        "jsonschema",
        "jsonschema_rs",
        "litellm",
        "opentelemetry.exporter",
        "opentelemetry.sdk",
        "rich",
        "server.cli.live",
        "server.cli.main",
        "server.cli.terminal",
        "server.engine",
        "server.tools.debates",
        "xllamacpp",
    ]
    assert loaded(f"import sys, server.mcp.stdio; print(*(m for m in {slow} if m in sys.modules))") == ""


FOR_CALLERS = ("server/tools", "server/web", "server/engine/queries.py", "server/engine/transfer.py")


@pytest.mark.requirement("N14")
def test_what_works_for_callers_reads_the_journal_through_the_store_that_asks_whose_a_debate_is() -> None:
    assert [
        f"{path}:{node.lineno}"
        for path in FILES
        if str(path).startswith(FOR_CALLERS)
        for node in ast.walk(parse_module(path))
        if isinstance(node, ast.Attribute) and node.attr == "storage"
    ] == []
