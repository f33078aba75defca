"""The built wheel, installed beside a distribution that owns `server` and `storage`, in hostile folders."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
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
    assert "counterpoint/app/storage/contract/journal.py" in names
    assert not [name for name in names if "__pycache__" in name]


@pytest.mark.full
@pytest.mark.parametrize("program", ["counterpoint", "counterpoint-mcp", "-m"])
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


def test_the_package_exports_the_types_of_the_model_interface() -> None:
    assert counterpoint.Reply is server.models.Reply
    assert counterpoint.ModelError is server.models.ModelError
    with pytest.raises(AttributeError, match="no attribute 'Debate'"):
        _ = counterpoint.Debate


def test_a_process_that_has_imported_another_server_gets_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text("", encoding="utf-8")
    code = "import server; from counterpoint import Reply"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    done = run([sys.executable, "-c", code], tmp_path, environment)

    assert "another package named 'server' is already imported" in done.stderr
    assert str(tmp_path / "server.py") in done.stderr
