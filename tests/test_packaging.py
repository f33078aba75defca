"""What is published: the wheel under uvx, the bundle, the entry of the registry, the container image's file."""

import hashlib
import json
import os
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import uv

from server.mcp.prompts import PROMPTS
from server.models.registry import PROVIDERS
from server.settings import Settings
from server.tools.debates import TOOLS
from tests.support.node import find_node
from tests.support.paths import NODE, ROOT

pytestmark = pytest.mark.requirement("N16", "N31")

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MANIFEST = json.loads((ROOT / "packaging" / "manifest.json").read_text(encoding="utf-8"))
ENTRY = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
make_links_absolute = runpy.run_path(str(ROOT / "packaging" / "published_readme.py"))["make_links_absolute"]
KEYS = [row.key_variables[0] for row in PROVIDERS]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build(folder, "--download-url", "https://downloads.invalid/v1/")
    return folder


def build(folder: Path, *options: str) -> None:
    command = [sys.executable, "packaging/build.py", "--without-image", "--output", str(folder), *options]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)


def find_one(folder: Path, pattern: str) -> Path:
    [found] = folder.glob(pattern)
    return found


def test_every_file_that_is_published_has_the_version_of_the_project() -> None:
    version = PROJECT["version"]

    assert MANIFEST["version"] == version
    assert ENTRY["version"] == version
    assert [package["version"] for package in ENTRY["packages"]] == [version]
    assert PROJECT["name"] in PROJECT["scripts"], "uvx NAME runs the script of that name"
    assert PROJECT["name"] == ENTRY["packages"][0]["identifier"] == MANIFEST["name"]


def test_the_published_readme_leads_to_the_repository_and_the_one_in_it_stays_there() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    repository = PROJECT["urls"]["Repository"]

    published = make_links_absolute(text, repository)

    assert f"git clone {repository} " in text
    assert f"git clone {repository}`" in (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
    assert "](https:" not in text
    assert (
        f"[![An answer as a page: what to do, why, and what speaks against it]({repository}/raw/HEAD/docs/"
        in published
    )
    assert f"]({repository}/blob/HEAD/docs/start.md)" in published
    assert re.findall(r"\]\((?!https:)", published) == []


def test_the_name_in_the_registry_is_the_one_that_the_package_and_the_image_claim() -> None:
    [claimed] = re.findall(r"<!-- mcp-name: (\S+) -->", (ROOT / "README.md").read_text(encoding="utf-8"))

    assert claimed == ENTRY["name"]
    assert f'io.modelcontextprotocol.server.name="{claimed}"' in DOCKERFILE
    assert len(ENTRY["description"]) <= 100
    assert PROJECT["requires-python"] == MANIFEST["compatibility"]["runtimes"]["python"]


def test_the_bundle_and_the_registry_ask_for_the_keys_that_models_are_found_by_and_hide_them() -> None:
    variables = {row["name"]: row for row in ENTRY["packages"][0]["environmentVariables"]}
    settings = [name for name in variables if name not in KEYS]
    asked = MANIFEST["server"]["mcp_config"]["env"]

    assert [name for name, row in variables.items() if row.get("isSecret")] == KEYS
    assert [name.removeprefix("COUNTERPOINT_").lower() in Settings.model_fields for name in settings] == [
        True for _ in settings
    ]
    assert [name for name in asked if name.endswith("KEY")] == KEYS
    for name, reference in asked.items():
        option = MANIFEST["user_config"][reference.removeprefix("${user_config.").removesuffix("}")]
        assert option.get("sensitive", False) == (name in KEYS)
        assert option["default"] == "", "an option without a default reaches the server as its reference"


def test_the_bundle_names_the_tools_and_files_that_there_are() -> None:
    assert [tool["name"] for tool in MANIFEST["tools"]] == [*TOOLS]
    assert MANIFEST["prompts_generated"] == bool(PROMPTS)
    assert (ROOT / MANIFEST["server"]["entry_point"]).is_file()


def test_the_image_runs_as_nobody_in_particular_and_keeps_its_data_in_a_volume() -> None:
    last_stage = DOCKERFILE.rpartition("\nFROM ")[2]

    assert re.findall(r"^USER (.*)$", last_stage, re.MULTILINE) == ["10001"]
    assert re.findall(r"^VOLUME (.*)$", last_stage, re.MULTILINE) == ["/data"]
    assert "COUNTERPOINT_DB=/data/" in last_stage
    assert "XDG_CONFIG_HOME=/data/" in last_stage
    assert "HEALTHCHECK" in last_stage
    assert "COPY ." not in DOCKERFILE
    copied = [
        name
        for line in re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.MULTILINE)
        for name in line.split()
    ]
    shown = {
        line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    }
    assert [name for name in copied if name not in shown or not (ROOT / name).exists()] == []


@pytest.mark.full
def test_the_bundle_holds_the_sources_that_uv_installs_and_nothing_of_this_machine(built: Path) -> None:
    with ZipFile(find_one(built, "*.mcpb")) as bundle:
        names = bundle.namelist()
        manifest = json.loads(bundle.read("manifest.json"))
        assert {key: manifest[key] for key in MANIFEST} == MANIFEST
        assert manifest["homepage"] == PROJECT["urls"]["Repository"]
        assert bundle.read(manifest["icon"]).startswith(b"\x89PNG")
        text = b"".join(bundle.read(name) for name in names)

    tops = {name.split("/")[0] for name in names}
    assert tops == {
        "manifest.json",
        "icon.png",
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "packaging",
        "counterpoint",
        "server",
        "storage",
    }
    assert "server/tools/listed.json" in names
    assert not [name for name in names if "__pycache__" in name or "venv" in name]
    assert str(ROOT).encode() not in text


@pytest.mark.full
def test_the_same_sources_are_the_same_bundle_and_the_registry_has_its_hash(
    built: Path, tmp_path: Path
) -> None:
    build(tmp_path)
    bundle = find_one(built, "*.mcpb")
    entry: dict[str, Any] = json.loads((built / "server.json").read_text(encoding="utf-8"))

    assert find_one(tmp_path, "*.mcpb").read_bytes() == bundle.read_bytes()
    assert entry["packages"][1]["identifier"] == f"https://downloads.invalid/v1/{bundle.name}"
    assert entry["packages"][1]["fileSha256"] == hashlib.sha256(bundle.read_bytes()).hexdigest()
    without = json.loads((tmp_path / "server.json").read_text(encoding="utf-8"))
    assert {key: without[key] for key in ENTRY} == ENTRY
    repository = PROJECT["urls"]["Repository"]
    assert without["repository"] == {"url": repository, "source": "github"}
    [icon] = without["icons"]
    assert (ROOT / icon["src"].removeprefix(f"{repository}/raw/HEAD/")).is_file()


@pytest.mark.full
def test_uvx_runs_the_wheel_by_the_name_of_the_package(built: Path, tmp_path: Path) -> None:
    # Offline: its dependencies are those of this environment, and uv is told that it has none.
    none = tmp_path / "none.txt"
    names = [re.match(r"[\w.-]+", requirement) for requirement in PROJECT["dependencies"]]
    none.write_text(
        "\n".join(f'{name[0]} ; python_version < "0"' for name in names if name), encoding="utf-8"
    )
    ours = os.pathsep.join(path for path in sys.path if path.endswith("site-packages"))
    environment = os.environ | {
        "PYTHONPATH": ours,
        "UV_CACHE_DIR": str(tmp_path / "cache"),
        "UV_TOOL_DIR": str(tmp_path / "tools"),
        "COUNTERPOINT_DB": str(tmp_path / "debates.db"),
    }
    command = [uv.find_uv_bin(), "tool", "run", "--offline", "--no-config", "--python", sys.executable]
    command += ["--overrides", str(none), "--from", str(find_one(built, "*.whl")), "counterpoint-mcp"]

    version = subprocess.run(
        [*command, "--version"], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    client = {"name": "test", "version": "1"}
    initialize = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize}
    with subprocess.Popen(
        command, env=environment, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin
        assert child.stdout
        child.stdin.write(json.dumps(request) + "\n")
        child.stdin.flush()
        answer = json.loads(child.stdout.readline() or "{}")
        child.stdin.close()

    assert version.stdout.split() == ["counterpoint", PROJECT["version"]]
    assert answer["result"]["serverInfo"]["version"] == PROJECT["version"]
    assert child.returncode == 0


@pytest.mark.full
@pytest.mark.node
def test_the_manifest_is_one_by_the_validator_of_the_bundles_host() -> None:
    command = [find_node(NODE), "node_modules/@anthropic-ai/mcpb/dist/cli/cli.js", "validate"]
    if not (NODE / command[1]).is_file():
        pytest.skip("needs `npm install` in tests/node")
    done = subprocess.run(
        [*command, str(ROOT / "packaging" / "manifest.json")],
        cwd=NODE,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
