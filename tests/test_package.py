"""The built wheel, installed beside a distribution that owns `server` and `storage`, in hostile folders."""

import inspect
import json
import os
import re
import subprocess
import sys
import venv
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints
from zipfile import ZipFile

import pytest

import counterpoint
import server.models
from server.tools.debates import TOOLS
from tests.support.paths import ROOT

pytestmark = pytest.mark.requirement("M7", "N29")

FOREIGN_CODE = "raise RuntimeError(f'{__name__} of another project was imported')"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs of a fresh environment: the wheel, its dependencies, and a foreign distribution."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=os.name != "nt")
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    install = [sys.executable, "-m", "pip", "--python", str(scripts / "python"), "install", "--quiet"]
    subprocess.run([*install, "--no-index", "--no-deps", str(wheel)], check=True)
    packages = next(folder.rglob("site-packages"))
    ours = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "dependencies.pth").write_text("\n".join(ours), encoding="utf-8")
    write_foreign_modules(packages, "server/__init__.py", "storage/__init__.py")
    return scripts


@pytest.fixture(scope="module")
def hostile_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    write_foreign_modules(folder, "server.py", "storage/__init__.py", "mcp_server.py", "tests/__init__.py")
    return folder


@pytest.fixture
def environment(hostile_folder: Path, tmp_path: Path) -> dict[str, str]:
    values = {"PYTHONPATH": str(hostile_folder), "COUNTERPOINT_DB": str(tmp_path / "debates.db")}
    return os.environ | values | {"COUNTERPOINT_MODELS": "scripted"}


def write_foreign_modules(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(FOREIGN_CODE, encoding="utf-8")


def run(command: list[str], folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.full
def test_the_wheel_installs_one_top_level_name(wheel: Path) -> None:
    names = ZipFile(wheel).namelist()

    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"counterpoint"}
    licences = {f"web/vendor/{library}.{kind}" for library in ("preact", "htm") for kind in ("js", "LICENSE")}
    assert {"settings.py", "tools/listed.json", "web/assets/page.css", *licences} <= {
        name.removeprefix("counterpoint/app/server/") for name in names
    }
    assert {"counterpoint/app/storage/journal.py", "counterpoint/py.typed"} <= {*names}
    assert not [name for name in names if "__pycache__" in name]
    [programs] = [name for name in names if name.endswith(".dist-info/entry_points.txt")]
    started = re.findall(r"^(\S+) = (.*)$", ZipFile(wheel).read(programs).decode(), re.MULTILINE)
    assert {*started} == {
        (name, "counterpoint.__main__:main") for name in ("counterpoint", "counterpoint-mcp")
    }


@pytest.mark.full
@pytest.mark.parametrize("program", ["counterpoint", "-m"])
def test_an_installed_program_serves_mcp_whatever_else_is_called_server_or_storage(
    program: str, programs: Path, hostile_folder: Path, environment: dict[str, str]
) -> None:
    command = [str(programs / program)]
    if program == "-m":
        # `python -m` searches the working directory first: it must not replace our libraries either.
        write_foreign_modules(hostile_folder, "working/mcp.py", "working/server.py", "working/anyio.py")
        hostile_folder = hostile_folder / "working"
        command = [str(programs / "python"), "-m", "counterpoint"]
    client = {"name": "test", "version": "1"}
    initialize = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize}

    with subprocess.Popen(
        command, cwd=hostile_folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin
        assert child.stdout
        child.stdin.write(json.dumps(request) + "\n")
        child.stdin.flush()
        answer = json.loads(child.stdout.readline() or "{}")
        child.stdin.write('{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}\n')
        child.stdin.flush()
        listed = json.loads(child.stdout.readline() or "{}")
        child.stdin.close()

    assert [tool["name"] for tool in listed["result"]["tools"]] == [*TOOLS]
    assert answer["result"]["serverInfo"]["name"] == "counterpoint"
    assert child.returncode == 0


@pytest.mark.full
def test_an_installed_command_runs_a_debate_among_hostile_modules(
    programs: Path, hostile_folder: Path, environment: dict[str, str]
) -> None:
    command = [str(programs / "counterpoint"), "debate", "Ship it?", "--json"]
    done = run(command, hostile_folder, environment)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"]


@pytest.mark.full
def test_the_names_for_own_models_come_from_the_installed_package_and_only_when_used(
    programs: Path, hostile_folder: Path, environment: dict[str, str]
) -> None:
    code = (
        "import sys, counterpoint; print('server' in sys.modules)\n"
        "from counterpoint import ModelError, Reply, Request\nprint(sys.modules['server'].__file__)"
    )
    done = run([str(programs / "python"), "-c", code], hostile_folder, environment)

    loaded, file = done.stdout.splitlines()
    assert loaded == "False"
    assert Path(file).parts[-4:] == ("counterpoint", "app", "server", "__init__.py")


OWN_MODEL = """
from counterpoint import Message, ModelError, OnText, Reply, Request, Usage

class Echo:
    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        last: Message = request.prompt.messages[-1]
        if not request.prompt.summary.positions:
            raise ModelError("refused", last.content)
        return Reply(last.content, Usage(model="echo", cost_usd="0"))

Reply("no usage")  # type: ignore[call-arg]
ModelError("no such cause", "")  # type: ignore[arg-type]
"""
"""Strict checks fail where an error is expected and none is found, as in types that are not known."""


@pytest.mark.full
def test_a_strict_type_checker_knows_the_types_of_the_installed_package(
    programs: Path, tmp_path: Path
) -> None:
    (tmp_path / "own_model.py").write_text(OWN_MODEL, encoding="utf-8")
    installed = ["--python-executable", str(programs / "python")]
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", *installed, "own_model.py"]
    done = run(command, tmp_path, {**os.environ})

    assert done.returncode == 0, done.stdout + done.stderr


def test_type_checkers_are_told_of_the_interface_as_it_is() -> None:
    told = load_stub(ROOT / "counterpoint" / "_interface.pyi")
    for name in counterpoint.__all__:
        assert describe(getattr(told, name)) == describe(getattr(server.models, name)), name


def load_stub(path: Path) -> ModuleType:
    spec = spec_from_loader(path.stem, SourceFileLoader(path.stem, str(path)))
    assert spec is not None
    assert spec.loader is not None
    stub = module_from_spec(spec)
    sys.modules[path.stem] = stub  # where dataclasses look for their module
    spec.loader.exec_module(stub)
    return stub


def describe(value: Any) -> str:
    """An alias as it is; of a class the types and defaults of what it holds and takes. Without names of modules."""
    if not inspect.isclass(value):
        return str(value)
    functions = (value.__init__, getattr(value, "find_next_speaker", None))
    hints: dict[str, Any] = {}
    for one in (value, *filter(inspect.isfunction, functions)):
        hints |= get_type_hints(one)
    taken = inspect.signature(value).parameters.values()
    defaults = [(one.name, str(one.kind), one.default) for one in taken]
    return re.sub(r"[\w.]+\.(?=\w)", "", f"{hints} {defaults}")


def test_the_package_exports_the_types_of_the_model_interface() -> None:
    for name in counterpoint.__all__:
        assert getattr(counterpoint, name) is getattr(server.models, name)
    with pytest.raises(AttributeError, match="no attribute 'Debate'"):
        _ = counterpoint.Debate


def test_a_process_that_has_imported_another_server_gets_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text("", encoding="utf-8")
    code = "import server; from counterpoint import Reply"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    done = run([sys.executable, "-c", code], tmp_path, environment)

    assert "another package named 'server' is already imported" in done.stderr
    assert str(tmp_path / "server.py") in done.stderr
