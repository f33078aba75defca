"""Imports point down only: what each package may import, and what the core may use.

`python -m tests.support.import_graph` prints the graph.
"""

import ast
import subprocess
import sys

import pytest

from tests.rooms import LIBRARIES, ROOMS
from tests.support.import_graph import (
    FILES,
    TOP_LEVEL_PACKAGES,
    compute_layers,
    count_folder_entries,
    find_imports,
    imports_by_package,
    package_dependencies,
    parse_module,
    render_report,
)
from tests.support.paths import ROOT

pytestmark = [pytest.mark.requirement("M7"), pytest.mark.full]  # they parse all of our code

MOST_ENTRIES = 12
MORE_ENTRIES = {
    "server/engine": 13,
    "server/debate": 14,  # the rooms of the core
    "server": 22,  # the rooms themselves, and the files that belong to none
}

PURE = (
    "bisect collections csv dataclasses decimal fractions functools hashlib inspect itertools json math "
    "re typing unicodedata xml"
)
"""What the core takes of the standard library: no clock, no chance, no input or output, no waiting."""

IMPURE_CALLS = {"open", "print", "input", "eval", "exec", "compile", "__import__", "breakpoint", "id", "hash"}
CORE = [path for path in FILES if path.is_relative_to("server/debate")]


def libraries(modules: set[str]) -> set[str]:
    return {name.split(".")[0] for name in modules} - sys.stdlib_module_names - {*TOP_LEVEL_PACKAGES}


def test_every_room_is_in_the_table_and_every_entry_is_a_room() -> None:
    assert sorted(ROOMS) == sorted(package_dependencies())
    assert set(LIBRARIES) <= set(ROOMS)


def test_a_room_imports_what_its_row_says_and_nothing_else() -> None:
    found = {one: sorted(others) for one, others in package_dependencies().items()}
    assert found == {one: sorted(row.split()) for one, row in ROOMS.items()}


def test_a_room_uses_the_libraries_of_its_row_and_no_others() -> None:
    found = {one: sorted(libraries(modules)) for one, modules in imports_by_package().items()}
    assert found == {one: sorted(LIBRARIES.get(one, "").split()) for one in ROOMS}


def test_the_table_has_every_room_below_those_that_import_it() -> None:
    order = list(ROOMS)
    for one, allowed in ROOMS.items():
        assert [other for other in allowed.split() if order.index(other) >= order.index(one)] == []


def test_the_report_names_no_circle_and_every_folder() -> None:
    assert sum(map(len, compute_layers())) == len(ROOMS)
    lines = render_report().splitlines()
    assert lines[0].endswith("no circle")
    assert {line.split()[-1] for line in lines if line} >= set(count_folder_entries())


def test_a_folder_has_at_most_about_ten_entries() -> None:
    assert {
        folder: count
        for folder, count in count_folder_entries().items()
        if count > MORE_ENTRIES.get(folder, MOST_ENTRIES)
    } == {}


def test_only_the_engine_and_those_above_it_know_core_models_and_storage() -> None:
    all_three = {"debate.facts", "models", "storage.contract"}
    order = list(ROOMS)
    knowing = [one for one, allowed in ROOMS.items() if all_three <= set(allowed.split())]
    assert min(knowing, key=order.index) == "engine.runner"


def test_only_the_composition_root_and_upkeep_know_the_databases() -> None:
    databases = ("storage.postgres", "storage.sqlite")
    knowing = [
        one
        for one, allowed in ROOMS.items()
        if not one.startswith(databases) and any(room.startswith(databases) for room in allowed.split())
    ]
    assert knowing == ["upkeep", "startup"]


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
