"""Imports point down only: the rooms of the house, who may enter which, and what furniture they hold.

`python -m tests.support.import_graph` prints the graph.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

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

pytestmark = pytest.mark.requirement("M7")

ROOMS: dict[str, str] = {
    "debate": "",
    "debate.facts": "",
    "http": "",
    "redaction": "",
    "server": "",
    "storage": "",
    "storage.postgres": "storage",
    "storage.sqlite": "storage",
    "debate.arguments": "debate.facts",
    "debate.documents": "debate.arguments debate.facts",
    "debate.votes": "debate.facts",
    "debate.ballots": "debate.arguments debate.documents debate.facts debate.votes",
    "debate.rules": "debate.arguments debate.ballots debate.documents debate.facts debate.votes",
    "debate.schemas": "debate.facts",
    "settings": "debate.facts redaction storage",
    "signing": "debate.facts redaction storage",
    "access": "debate.facts settings storage",
    "debate.analysis": (
        "debate.arguments debate.ballots debate.documents debate.facts debate.rules debate.votes"
    ),
    "debate.prompts": (
        "debate.arguments debate.ballots debate.documents debate.facts debate.rules debate.schemas debate.votes"
    ),
    "debate.replies": (
        "debate.arguments debate.ballots debate.documents debate.facts debate.prompts debate.rules debate.schemas "
        "debate.votes"
    ),
    "research": "debate.facts debate.prompts redaction settings",
    "debate.commands": (
        "debate.ballots debate.documents debate.facts debate.replies debate.rules debate.schemas debate.votes"
    ),
    "debate.records": (
        "debate.analysis debate.arguments debate.commands debate.documents debate.facts debate.prompts debate.replies "
        "debate.rules debate.schemas debate.votes"
    ),
    "models": "debate.facts debate.prompts debate.replies",
    "debate.views": (
        "debate.analysis debate.arguments debate.ballots debate.commands debate.documents debate.facts "
        "debate.prompts debate.rules debate.schemas debate.votes"
    ),
    "models.embeddings": "debate.facts models",
    "models.fakes": "debate.facts debate.schemas models models.embeddings",
    "models.own": "models redaction",
    "models.client": "debate.facts debate.rules models",
    "models.concurrency": "",
    "models.resilience": "models models.concurrency models.embeddings",
    "models.local": "models redaction",
    "models.prices": "debate.facts models models.fakes",
    "models.providers": (
        "debate.facts debate.rules http models models.embeddings models.prices models.resilience redaction"
    ),
    "models.windows": "debate.facts models models.fakes models.providers models.prices",
    "models.registry": (
        "debate.facts debate.votes models models.client models.embeddings models.fakes models.local models.own "
        "models.prices models.providers models.resilience"
    ),
    "models.model_servers": "models.providers models.registry models.windows",
    "engine": "",
    "engine.turnstile": "",
    "engine.database": (
        "debate.analysis debate.ballots debate.commands debate.facts debate.replies debate.rules "
        "debate.views debate.votes redaction signing storage"
    ),
    "engine.model_calls": (
        "debate.ballots debate.documents debate.facts debate.prompts debate.replies debate.rules "
        "engine.database engine.turnstile models models.client models.registry redaction research "
        "settings"
    ),
    "engine.runner": (
        "debate.facts debate.rules engine.database engine.model_calls models models.client redaction storage"
    ),
    "engine.mirrors": "debate.facts debate.rules engine.database engine.runner storage",
    "engine.driver": "debate.rules engine.database engine.mirrors engine.runner models.client models.concurrency",
    "engine.setups": (
        "debate.commands debate.facts debate.rules models.registry models.windows redaction research"
    ),
    "engine.debates": (
        "debate.commands debate.facts debate.rules engine.database engine.driver engine.model_calls "
        "engine.runner engine.setups models.client models.model_servers models.prices models.registry models.windows "
        "redaction research signing storage"
    ),
    "engine.receipts": (
        "debate.facts debate.records debate.views engine.database engine.debates settings signing storage"
    ),
    "engine.queries": "debate.facts debate.views engine.database engine.debates engine.receipts storage",
    "engine.recovery": "debate.facts engine.database engine.debates",
    "engine.transfer": (
        "debate.facts debate.records debate.views engine.database engine.debates engine.receipts storage"
    ),
    "engine.verification": (
        "debate.facts debate.records engine.database engine.receipts engine.transfer signing storage"
    ),
    "upkeep": (
        "debate.facts engine.database engine.debates engine.queries engine.receipts storage storage.sqlite"
    ),
    "hooks": (
        "debate.commands debate.facts debate.rules debate.views engine.database engine.debates http "
        "redaction settings storage"
    ),
    "telemetry": (
        "debate.commands debate.facts engine.database engine.debates engine.runner models models.fakes redaction "
        "settings storage"
    ),
    "startup": (
        "debate.facts engine.database redaction settings storage storage.postgres storage.sqlite telemetry"
    ),
    "compose": (
        "debate.facts engine.database engine.debates engine.model_calls engine.receipts engine.recovery "
        "hooks models models.client models.embeddings models.fakes models.own models.prices "
        "models.providers models.registry models.resilience models.windows redaction research settings "
        "signing startup storage telemetry upkeep"
    ),
    "evaluation": (
        "compose debate.analysis debate.ballots debate.commands debate.facts debate.rules debate.views "
        "engine.database engine.debates models.prices models.registry settings"
    ),
    "web": "",
    "web.drawing": "debate.analysis debate.arguments debate.documents debate.facts debate.rules debate.views",
    "web.page": "",
    "web.record": "debate.views storage web.drawing",
    "web.sources": "debate.views engine.database engine.debates engine.queries engine.receipts web.record",
    "web.site": (
        "debate.commands debate.facts debate.rules debate.views engine.database engine.debates redaction "
        "web.page web.sources"
    ),
    "tools": "",
    "tools.listing": "access",
    "tools.tool": (
        "access debate.commands debate.facts debate.rules debate.views engine.database engine.debates engine.runner "
        "tools.listing"
    ),
    "tools.asking": (
        "debate.commands debate.facts debate.rules debate.views engine.database models models.client "
        "models.registry tools.tool"
    ),
    "tools.hints": "debate.commands debate.facts debate.rules debate.views",
    "tools.fitting": "debate.views",
    "tools.results": (
        "debate.facts debate.rules debate.views engine.database engine.debates engine.queries models.registry "
        "tools.fitting tools.hints"
    ),
    "tools.pages": "debate.facts debate.views engine.debates tools.fitting tools.results",
    "tools.texts": "debate.facts debate.views engine.queries tools.results",
    "tools.debates": (
        "debate.commands debate.facts debate.rules debate.views engine.database engine.debates engine.queries "
        "models.client models.registry redaction tools.asking tools.hints tools.listing tools.pages "
        "tools.results tools.texts tools.tool"
    ),
    "tools.schemas": "tools.tool",
    "mcp": (
        "access compose debate.facts debate.rules debate.views engine.database engine.debates engine.queries "
        "models.own models.providers redaction settings startup storage telemetry tools.asking tools.debates "
        "tools.hints tools.listing tools.results tools.texts tools.tool web.page web.sources"
    ),
    "http_server": (
        "access compose debate.facts engine.debates mcp models.own redaction settings startup storage telemetry "
        "tools.listing web.site"
    ),
    "client_configs": "debate.facts settings",
    "cli": "",
    "cli.files": "",
    "cli.terminal": "debate.facts",
    "cli.completion": "debate.facts settings startup storage",
    "cli.defaults": "settings",
    "cli.session": (
        "cli.completion cli.terminal compose debate.facts debate.views engine.database engine.debates engine.queries "
        "models.fakes settings startup"
    ),
    "cli.live": (
        "cli.session cli.terminal debate.analysis debate.ballots debate.commands debate.documents "
        "debate.facts debate.rules debate.views debate.votes engine.database engine.debates models.registry"
    ),
    "cli.runs": "cli.live cli.session debate.facts debate.views models.fakes settings",
    "cli.debates": (
        "cli.completion cli.files cli.live cli.runs cli.session cli.terminal debate.analysis debate.commands "
        "debate.facts debate.rules debate.views engine.database engine.debates engine.queries engine.receipts "
        "engine.transfer engine.verification evaluation models.fakes models.local models.prices models.registry "
        "research settings signing storage upkeep web.page web.record web.site web.sources"
    ),
    "cli.installation": (
        "access cli.files cli.session client_configs compose debate.commands debate.facts debate.views "
        "engine.database engine.debates hooks models models.local models.model_servers models.prices "
        "models.providers models.registry models.windows redaction research settings signing startup "
        "storage upkeep"
    ),
    "cli.main": (
        "cli.completion cli.debates cli.defaults cli.installation cli.session debate.facts debate.views "
        "engine.database engine.debates "
        "engine.queries http_server mcp models.local redaction settings startup"
    ),
    "__main__": "cli.main mcp",
    "counterpoint": "__main__ debate.facts evaluation models settings",
}
"""What of ours each room imports, from the bottom up. A room imports only such as stand above it here."""

LIBRARIES: dict[str, str] = {
    "access": "anyio httpx2 jwt mcp pydantic",
    "debate.facts": "pydantic",
    "debate.ballots": "pydantic",
    "storage": "anyio rfc8785",
    "storage.postgres": "anyio asyncpg",
    "storage.sqlite": "aiosqlite anyio",
    "debate.schemas": "jsonschema_rs",
    "redaction": "pydantic",
    "settings": "platformdirs pydantic",
    "signing": "cryptography platformdirs",
    "debate.prompts": "pydantic",
    "debate.replies": "pydantic",
    "research": "anyio httpx2 mcp pydantic pypdf",
    "debate.commands": "pydantic",
    "debate.records": "pydantic",
    "debate.analysis": "pydantic",
    "debate.views": "pydantic",
    "models": "anyio",
    "models.fakes": "anyio",
    "models.own": "anyio",
    "models.concurrency": "anyio",
    "models.resilience": "anyio",
    "models.local": "anyio platformdirs xllamacpp",
    "models.providers": "aiohttp anyio httpx2 keyring litellm platformdirs",
    "models.model_servers": "anyio",
    "models.windows": "anyio",
    "engine.database": "anyio pydantic",
    "engine.model_calls": "anyio pydantic_core rfc8785",
    "engine.runner": "anyio",
    "engine.mirrors": "anyio",
    "engine.driver": "anyio",
    "engine.debates": "anyio",
    "engine.receipts": "anyio",
    "engine.setups": "anyio",
    "engine.queries": "pydantic",
    "engine.recovery": "anyio",
    "engine.transfer": "pydantic",
    "upkeep": "anyio",
    "evaluation": "anyio",
    "hooks": "anyio httpx2 pydantic yaml",
    "web.site": "anyio pydantic starlette uvicorn",
    "http_server": "anyio mcp sse_starlette starlette uvicorn",
    "mcp": "anyio mcp pydantic",
    "telemetry": "anyio mcp opentelemetry prometheus_client pydantic",
    "cli.terminal": "rich",
    "cli.completion": "anyio click",
    "cli.defaults": "click",
    "cli.session": "anyio click",
    "cli.live": "anyio click rich",
    "cli.runs": "click",
    "cli.debates": "click pydantic rich",
    "cli.installation": "anyio click",
    "cli.main": "anyio click",
    "client_configs": "anyio mcp platformdirs ruamel tomlkit yaml",
    "compose": "anyio",
    "counterpoint": "inspect_ai",
    "tools.asking": "anyio mcp pydantic",
    "tools.debates": "anyio mcp pydantic",
    "tools.fitting": "pydantic",
    "tools.listing": "mcp pydantic",
    "tools.results": "mcp pydantic",
    "tools.schemas": "mcp",
    "tools.tool": "mcp pydantic",
}
"""The libraries of each room; a room that is not here has none."""

MOST_ENTRIES = 12
MORE_ENTRIES = {
    "server/engine": 13,
    "server/debate/commands": 13,  # one a part of a request
    "server/debate": 13,  # the rooms of the core
    "server/debate/facts": 14,  # one for each kind of facts
    "storage/postgres": 14,  # one for each part of the contract
    "storage/sqlite": 14,  # likewise
    "storage": 16,  # what the databases have in common
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


@pytest.mark.parametrize("one", ROOMS)
def test_a_room_imports_what_its_row_says_and_nothing_else(one: str) -> None:
    assert sorted(package_dependencies()[one]) == sorted(ROOMS[one].split())


@pytest.mark.parametrize("one", ROOMS)
def test_a_room_uses_the_libraries_of_its_row_and_no_others(one: str) -> None:
    assert sorted(libraries(imports_by_package()[one])) == sorted(LIBRARIES.get(one, "").split())


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
    all_three = {"debate.facts", "models", "storage"}
    order = list(ROOMS)
    knowing = [one for one, allowed in ROOMS.items() if all_three <= set(allowed.split())]
    assert min(knowing, key=order.index) == "engine.runner"


def test_only_the_composition_root_and_upkeep_know_the_databases() -> None:
    databases = {"storage.postgres", "storage.sqlite"}
    knowing = [one for one, allowed in ROOMS.items() if databases & set(allowed.split())]
    assert knowing == ["upkeep", "startup"]


@pytest.mark.parametrize("path", CORE, ids=str)
def test_the_core_is_pure(path: Path) -> None:
    tops = {name.split(".")[0] for name in find_imports(path)}
    assert tops <= {*PURE.split(), "jsonschema_rs", "pydantic", "server"}
    for node in ast.walk(parse_module(path)):
        assert not isinstance(
            node, ast.Await | ast.AsyncFunctionDef | ast.AsyncFor | ast.AsyncWith | ast.Global
        )
        assert not (isinstance(node, ast.Call) and getattr(node.func, "id", "") in IMPURE_CALLS), node.lineno


def test_what_the_core_may_use_it_does_use() -> None:
    tops = {name.split(".")[0] for path in CORE for name in find_imports(path)}
    assert sorted(tops - {"jsonschema_rs", "pydantic", "server"}) == PURE.split()


def test_no_file_is_called_utils() -> None:
    assert not [path for path in FILES if path.stem in ("utils", "util", "helpers", "common", "misc")]


@pytest.mark.parametrize("path", FILES, ids=str)
def test_a_file_is_under_400_lines_and_a_function_under_50(path: Path) -> None:
    assert len((ROOT / path).read_text(encoding="utf-8").splitlines()) <= 400
    long = [
        f"{node.name}: {lines}"
        for node in ast.walk(parse_module(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or 0) - node.lineno + 1) >= 50
    ]
    assert not long


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
@pytest.mark.parametrize("path", [path for path in FILES if str(path).startswith(FOR_CALLERS)], ids=str)
def test_what_works_for_callers_reads_the_journal_through_the_store_that_asks_whose_a_debate_is(
    path: Path,
) -> None:
    reached = [node for node in ast.walk(parse_module(path)) if getattr(node, "attr", "") == "journal"]
    assert not reached
