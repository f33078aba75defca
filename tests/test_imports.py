"""Imports point down only: what each room may import, and what the core may use.

`python -m tests.support.import_graph` prints the graph.
"""

import ast
import subprocess
import sys

import pytest

from tests.support.import_graph import (
    FILES,
    TOP_LEVEL_PACKAGES,
    find_imports,
    imports_by_package,
    package_dependencies,
    parse_module,
    render_report,
)
from tests.support.paths import ROOT

pytestmark = [pytest.mark.requirement("M7"), pytest.mark.full]  # they parse all of our code

ROOMS = {
    "background_tasks": ("", "anyio"),
    "debate": ("", "jsonschema_rs pydantic"),
    "http": ("", ""),
    "redaction": ("", "pydantic"),
    "server": ("", ""),
    "storage": ("", "aiosqlite anyio asyncpg rfc8785"),
    "models": ("debate http redaction", "aiohttp anyio httpx2 keyring litellm platformdirs xllamacpp"),
    "settings": ("debate redaction storage", "platformdirs pydantic"),
    "signing": ("debate redaction storage", "cryptography platformdirs"),
    "access": ("debate settings storage", "anyio httpx2 jwt mcp pydantic starlette"),
    "client_configs": ("debate settings", "anyio mcp platformdirs ruamel tomlkit"),
    "research": (
        "background_tasks debate redaction settings",
        "anyio cssselect2 httpx2 mcp pydantic pypdf tinycss2 tinyhtml5",
    ),
    "engine": (
        "background_tasks debate models redaction research settings signing storage",
        "anyio pydantic pydantic_core rfc8785",
    ),
    "hooks": ("debate engine http redaction settings storage", "anyio httpx2 pydantic ruamel"),
    "telemetry": (
        "debate engine models redaction settings storage",
        "anyio mcp opentelemetry prometheus_client pydantic",
    ),
    "tools": ("access debate engine models redaction", "anyio mcp pydantic"),
    "upkeep": ("debate engine storage", "anyio"),
    "web": ("access background_tasks debate engine redaction storage", "anyio pydantic starlette uvicorn"),
    "startup": ("debate engine redaction settings storage telemetry", ""),
    "compose": (
        "debate engine hooks models redaction research settings signing startup storage telemetry upkeep",
        "",
    ),
    "evaluation": ("compose debate engine models settings", "anyio"),
    "mcp": (
        "access background_tasks compose debate engine models redaction settings startup storage telemetry tools web",
        "anyio mcp pydantic",
    ),
    "http_server": (
        (
            "access background_tasks compose debate engine mcp models redaction settings startup storage telemetry "
            "tools web"
        ),
        "anyio mcp sse_starlette starlette uvicorn",
    ),
    "cli": (
        (
            "access client_configs compose debate engine evaluation hooks http_server mcp models redaction research "
            "settings signing startup storage upkeep web"
        ),
        "anyio click pydantic rich",
    ),
    "__main__": ("cli mcp", ""),
    "counterpoint": ("__main__ debate evaluation models settings", "inspect_ai"),
}
"""What each room imports of ours, and the libraries that it uses, from the bottom up."""

PURE = (
    "abc bisect collections contextlib csv dataclasses decimal fractions functools hashlib inspect itertools json math "
    "re typing unicodedata xml"
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
    assert sorted(tops - {"jsonschema_rs", "pydantic", "server"}) == PURE.split()


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
        if isinstance(node, ast.Attribute) and node.attr == "journal"
    ] == []
