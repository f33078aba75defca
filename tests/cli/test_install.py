"""Added to the configuration of clients, and nothing else in it changed."""

import contextlib
import json
import os
import re
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from server.cli.main import counterpoint
from server.client_configs.clients import CLIENTS
from server.client_configs.launch import choose_launch_command

pytestmark = pytest.mark.requirement("M4", "N16")

Install = Callable[..., Result]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(tmp_path))
    for variable in ("XDG_CONFIG_HOME", "CODEX_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


@pytest.fixture
def config(home: Path) -> Path:
    """Cursor's, which lies in the same place on every system."""
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    return path


@pytest.fixture
def install(home: Path) -> Install:
    assert home.is_dir()
    return lambda *args: CliRunner().invoke(counterpoint, ["install", *args, "--no-check"])


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_missing_file_is_created_with_a_command_that_is_absolute(install: Install, home: Path) -> None:
    result = install("cursor")

    assert result.exit_code == 0, result.output
    written = json.loads((home / ".cursor" / "mcp.json").read_text(encoding="utf-8"))
    assert Path(written["mcpServers"]["counterpoint"]["command"]).is_absolute()
    assert files(home / ".cursor") == ["mcp.json"]


def test_the_rest_of_the_file_stays_in_order_and_a_backup_is_written(install: Install, config: Path) -> None:
    before = (
        '{\n    "z": 1,\n    "mcpServers": {\n        "other": {"command": "ß"}\n    },\n    "a": [1.50]\n}\n'
    )
    config.write_text(before, encoding="utf-8")

    result = install("cursor")

    text = config.read_text(encoding="utf-8")
    after = json.loads(text)
    copies = list(config.parent.glob("mcp.json.*.bak"))
    assert list(after) == ["z", "mcpServers", "a"]
    assert list(after["mcpServers"]) == ["other", "counterpoint"]
    assert after["mcpServers"]["other"] == {"command": "ß"}
    assert '\n    "z": 1' in text
    assert [copy.read_text(encoding="utf-8") for copy in copies] == [before]
    assert str(copies[0]) in result.stdout
    assert files(config.parent) == ["mcp.json", copies[0].name]


def test_an_unknown_client_is_refused_with_those_that_are_known(install: Install) -> None:
    refused = install("emacs")

    assert refused.stderr.startswith(
        "Error: Invalid value for 'CLIENT': 'emacs' is not one of 'claude-desktop', "
    )
    assert "CLIENT is one of claude-desktop, " in install("--help").stdout


def test_installing_twice_changes_nothing(install: Install, config: Path) -> None:
    install("cursor")
    before = config.read_bytes()

    result = install("cursor")

    assert "already" in result.stdout
    assert config.read_bytes() == before
    assert files(config.parent) == ["mcp.json"]


def test_what_the_user_added_stays(install: Install, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = {"command": "/old/counterpoint", "disabled": False, "env": {"COUNTERPOINT_MODELS": "scripted"}}
    config.write_text(json.dumps({"mcpServers": {"counterpoint": ours}}), encoding="utf-8")
    monkeypatch.setenv("MISTRAL_API_KEY", "a-secret")

    install("cursor", "--env", "MISTRAL_API_KEY")

    entry = json.loads(config.read_text(encoding="utf-8"))["mcpServers"]["counterpoint"]
    assert entry["command"] == choose_launch_command().command
    assert entry["disabled"] is False
    assert entry["env"].items() >= {"COUNTERPOINT_MODELS": "scripted", "MISTRAL_API_KEY": "a-secret"}.items()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"mcpServers": {} "a": 1}', "not JSON (line 1, column 19"),
        ('{"mcpServers": {}', "not JSON (line 1, column"),
        ("[]", "it is not an object"),
        ('{"mcpServers": 3}', 'no object under "mcpServers"'),
        ('{"mcpServers": {"counterpoint": "x"}}', 'no object under "mcpServers.counterpoint"'),
        ('{"mcpServers": {"a": {}}, "mcpServers": {}}', '"mcpServers" stands twice in one object'),
        ('{"mcpServers": {"counterpoint": {}, "counterpoint": {}}}', '"counterpoint" stands twice'),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply to be read"),
    ],
    ids=lambda text: text[:60],
)
def test_another_shape_is_not_changed(install: Install, config: Path, text: str, expected: str) -> None:
    config.write_text(text, encoding="utf-8")

    result = install("cursor")

    assert (result.exit_code, result.stdout) == (1, "")
    assert expected in result.stderr
    assert "install cursor --print" in result.stderr
    assert config.read_text(encoding="utf-8") == text
    assert files(config.parent) == ["mcp.json"]


@pytest.mark.parametrize(
    ("client", "text", "expected"),
    [
        ("codex", "a = " + "[" * 5000 + "]" * 5000, "nested too deeply to be read"),
        ("codex", "[mcp_servers.a]\n[mcp_servers.a]\n", "it is not TOML (Cannot declare"),
        ("codex", '[[mcp_servers]]\nname = "a"\n', "it has [[mcp_servers]], a list"),
        ("goose", "a: " + "[" * 500 + "]" * 500, "nested too deeply to be read"),
        (
            "goose",
            "extensions:\n  a: {k: secret}\nextensions: {}\n",
            'line 3: found duplicate key "extensions"',
        ),
        ("goose", "x: &a {k: {}}\nextensions: *a\n", "without others"),
        (
            "continue",
            "mcpServers: [{name: counterpoint}, {name: counterpoint}]\n",
            "two servers with the name",
        ),
    ],
)
def test_a_configuration_that_would_come_out_wrong_is_not_changed(
    install: Install, client: str, text: str, expected: str
) -> None:
    path = CLIENTS[client].find_user_file()
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    for result in (install(client), CliRunner().invoke(counterpoint, ["uninstall", client])):
        assert "secret" not in result.output
        assert expected in result.stderr or "no such server" in result.stdout
    assert path.read_text(encoding="utf-8") == text
    assert files(path.parent) == [path.name]


def test_an_entry_among_keys_with_dots_is_left_to_the_user(install: Install) -> None:
    """The library for TOML would put the server `b` into ours."""
    path, text = (
        CLIENTS["codex"].find_user_file(),
        'mcp_servers.{}.command = "a"\nmcp_servers.b.command = "b"\n',
    )
    path.parent.mkdir(parents=True)
    path.write_text(text.format("counterpoint"), encoding="utf-8")
    assert "one entry cannot be changed without others" in install("codex").stderr
    assert path.read_text(encoding="utf-8") == text.format("counterpoint")


def test_two_files_of_one_client_are_refused_and_one_under_its_other_name_is_taken(install: Install) -> None:
    path = CLIENTS["opencode"].find_user_file()
    other = path.with_suffix(".jsonc")
    path.parent.mkdir(parents=True)
    other.write_text("{} // mine\n", encoding="utf-8")
    assert install("opencode").exit_code == 0
    assert "counterpoint" in other.read_text(encoding="utf-8")
    assert not path.exists()
    path.write_text("{}", encoding="utf-8")
    for result in (install("opencode"), CliRunner().invoke(counterpoint, ["uninstall", "opencode"])):
        assert result.exit_code == 1
        assert f"Nothing was changed: {path} and {other} are both there" in result.stderr
    assert path.read_text(encoding="utf-8") == "{}"


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")
def test_a_link_to_nothing_a_folder_and_a_pipe_are_told_of(
    install: Install, config: Path, home: Path
) -> None:
    def refuses(expected: str) -> None:
        result = install("cursor")
        assert (result.exit_code, result.stdout) == (1, "")
        assert f"was not changed: {expected}" in result.stderr

    config.symlink_to(home / "gone.json")
    refuses("it is a link to nothing")
    assert not (home / "gone.json").exists()
    config.unlink()
    config.symlink_to(config)
    refuses("it is a link to nothing")
    config.unlink()
    config.mkdir()
    refuses("it is not a file")
    config.rmdir()
    os.mkfifo(config)
    refuses("it is not a file")
    config.unlink()
    config.touch()
    os.truncate(config, 33 << 20)  # a hole, which takes no room
    refuses("it is larger than 32 MB")


def test_codex_waits_for_our_tools_unless_the_user_says_otherwise(install: Install, home: Path) -> None:
    path = home / ".codex" / "config.toml"
    assert "`codex exec` would not wait for its tools" in install("codex").stdout
    text = path.read_text(encoding="utf-8")
    assert "required = true\nstartup_timeout_sec = 60\n" in text
    path.write_text(text.replace("required = true", "required = false"), encoding="utf-8")
    assert "already has this server" in install("codex").stdout


def test_who_uses_gemini_is_told_to_trust_the_folder(install: Install) -> None:
    assert "no servers in a folder that it does not trust" in install("gemini").stdout


@pytest.mark.parametrize("content", [b"\xff\xfe{\x00}\x00", b"\xef\xbb\xbf{}", b""])
def test_encodings_are_read_or_refused_not_mangled(install: Install, config: Path, content: bytes) -> None:
    config.write_bytes(content)

    result = install("cursor")

    if content.startswith(b"\xff"):
        assert "not UTF-8" in result.stderr
        assert config.read_bytes() == content
    else:
        assert "counterpoint" in json.loads(config.read_text(encoding="utf-8"))["mcpServers"]


def test_keys_are_copied_only_when_named_and_with_a_warning_and_never_shown(
    install: Install, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "a-secret")

    without, named = install("cursor"), install("cursor", "--env", "MISTRAL_API_KEY")
    shown = [
        install(client, "--print", "--env", "MISTRAL_API_KEY").output for client in ("cursor", "claude-code")
    ]

    assert "a-secret" in config.read_text(encoding="utf-8")
    assert "a-secret" not in next(config.parent.glob("*.bak")).read_text(encoding="utf-8")
    assert "Warning" not in without.stderr
    assert "Warning: the value of MISTRAL_API_KEY is stored in plain text" in named.stderr
    assert not [text for text in [without.output, named.output, *shown] if "a-secret" in text]


def test_a_variable_that_is_not_set_is_a_usage_error(install: Install) -> None:
    result = install("cursor", "--env", "NO_SUCH_VARIABLE")

    assert result.exit_code == 2
    assert "NO_SUCH_VARIABLE" in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="permissions and links of POSIX")
def test_a_link_stays_a_link_and_permissions_stay(
    install: Install, config: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = home / "dotfiles.json"
    target.write_text("{}", encoding="utf-8")
    target.chmod(0o640)
    config.symlink_to(target)
    monkeypatch.setenv("MY_KEY", "a-secret-of-mine")

    install("cursor", "--env", "MY_KEY")

    assert config.is_symlink()
    assert "counterpoint" in target.read_text(encoding="utf-8")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_project_has_its_own_file(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    result = install("vscode", "--project")

    assert result.exit_code == 0
    written = json.loads((tmp_path / ".vscode" / "mcp.json").read_text(encoding="utf-8"))
    assert written["servers"]["counterpoint"]["type"] == "stdio"
    assert install("windsurf", "--project").exit_code == 2


@pytest.mark.parametrize("client", CLIENTS)
def test_each_client_has_its_own_place_and_gets_it_back(install: Install, home: Path, client: str) -> None:
    if client == "claude-code":
        put_claude(home, ":")
    printed = install(client, "--print")
    assert [path for path in home.rglob("*") if path.is_file() and path.parent.name != "bin"] == []
    result = install(client)

    assert (printed.exit_code, result.exit_code) == (0, 0), result.output
    if client == "claude-code":
        return
    [written] = [path for path in home.rglob("*") if path.is_file()]
    assert str(written) in result.stdout
    assert str(written) in printed.stderr
    assert written.read_text(encoding="utf-8").strip() == printed.stdout.strip()

    removed = CliRunner().invoke(counterpoint, ["uninstall", client])
    assert removed.exit_code == 0, removed.output
    assert choose_launch_command().command not in written.read_text(encoding="utf-8")
    assert "no such server" in CliRunner().invoke(counterpoint, ["uninstall", client]).stdout


WITH_COMMENTS = {
    "zed": """\
// mine
{
    "theme": "One", // bright
    /* servers */
    "context_servers": {
        "other": {"command": "x // no comment"}, // the other
    },
}
""",
    "codex": """\
# mine
model = "gpt-5.5"   # the model

[mcp_servers.other]  # the other
command = 'x'
""",
    "goose": """\
# mine
GOOSE_MODEL: "gpt-5.5"  # the model
extensions:
  # the other
  other:
    enabled: true
    cmd: 'x'
""",
    "continue": """\
name: Mine  # my own
version: 1.0.0
schema: v1
mcpServers:
  # the other
  - name: other
    command: x
""",
}


def test_servers_are_a_list_where_the_client_reads_a_list(install: Install) -> None:
    path = CLIENTS["continue"].find_user_file()
    path.parent.mkdir(parents=True)
    path.write_text("name: Mine\nversion: 1.0.0\nschema: v1\n", encoding="utf-8")
    assert install("continue").exit_code == 0
    assert "mcpServers:\n- name: counterpoint\n" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("client", WITH_COMMENTS)
def test_comments_survive_an_entry_that_comes_and_goes(install: Install, client: str) -> None:
    before, path = WITH_COMMENTS[client], CLIENTS[client].find_user_file()
    path.parent.mkdir(parents=True)
    path.write_text(before, encoding="utf-8")

    assert install(client).exit_code == 0
    added = path.read_text(encoding="utf-8")
    assert "counterpoint" in added
    CliRunner().invoke(counterpoint, ["uninstall", client])
    after = path.read_text(encoding="utf-8")

    def lines(text: str) -> list[str]:
        return [line.strip() for line in text.splitlines() if line.strip()]

    assert [line for line in lines(before) if line not in lines(added)] == []
    assert lines(after) == lines(before)


def put_claude(home: Path, script: str) -> Path:
    """A stand-in for Claude Code's own program, which notes what it is called with."""
    if sys.platform == "win32":
        pytest.skip("the stand-in is a shell script")
    program = home / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{home}/bin/called"\n{script}\n', encoding="utf-8")
    program.chmod(0o755)
    return home / "bin" / "called"


def test_claude_code_changes_its_own_configuration(
    install: Install, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = put_claude(home, ":")
    monkeypatch.setenv("MISTRAL_API_KEY", "a secret")

    result = install("claude-code", "--env", "MISTRAL_API_KEY")

    assert result.exit_code == 0, result.output
    *words, entry = called.read_text(encoding="utf-8").splitlines()
    assert words == ["mcp", "add-json", "--scope", "user", "counterpoint"]
    assert json.loads(entry)["command"] == choose_launch_command().command
    assert json.loads(entry)["env"]["MISTRAL_API_KEY"] == "a secret"
    assert "a secret" not in result.output


def test_without_claude_code_nothing_is_said_to_be_added(install: Install, home: Path) -> None:
    missing = install("claude-code")
    put_claude(home, "echo No such scope. >&2; exit 3")
    failing = install("claude-code")

    assert (missing.exit_code, failing.exit_code) == (1, 1)
    assert "`claude` is not on the PATH. Nothing was changed." in missing.stderr
    assert "`claude mcp add-json` failed: No such scope." in failing.stderr
    assert "Added" not in missing.output + failing.output


@pytest.mark.parametrize("client", [name for name, row in CLIENTS.items() if row.project_file])
def test_a_file_of_a_project_has_no_secret_and_no_path_of_this_machine(
    install: Install, home: Path, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    monkeypatch.setenv("MISTRAL_API_KEY", "a secret")

    result = install(client, "--project", "--env", "MISTRAL_API_KEY", "--env", "NOT_SET_HERE")

    assert result.exit_code == 0, result.output
    text = (home / CLIENTS[client].project_file).read_text(encoding="utf-8")
    assert "a secret" not in text + result.output
    assert str(Path(sys.executable).parent) not in text
    assert "uvx" in text
    assert ("MISTRAL_API_KEY" in text) == (CLIENTS[client].reference is not None)
    assert "MISTRAL_API_KEY" in text + result.stderr


@pytest.mark.usefixtures("real_starts")
def test_the_server_is_started_as_the_client_will_start_it(home: Path, config: Path) -> None:
    works = CliRunner().invoke(counterpoint, ["install", "cursor"])
    assert works.exit_code == 0, works.output
    assert re.search(r"Checked: the server starts in \d+\.\d s and offers 8 tools\.", works.stdout)

    with contextlib.chdir(home):  # nobody has uvx on this PATH
        fails = CliRunner().invoke(counterpoint, ["install", "kiro", "--project"])
    assert fails.exit_code == 1
    assert "Written, but the server did not start with `uvx counterpoint-mcp`" in fails.stderr
    assert (home / ".kiro" / "settings" / "mcp.json").exists()
    assert config.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")
def test_a_program_from_the_cache_of_uvx_is_started_by_uvx(home: Path) -> None:
    target, cached = home / "counterpoint", home / "archive-v0" / "x1" / "bin" / "counterpoint"
    uvx = home / "bin" / "uvx"
    for path in (target, cached, uvx):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o755)

    direct, by_uvx = choose_launch_command(str(target)), choose_launch_command(str(cached))
    assert (direct.command, direct.args, by_uvx.command) == (str(target), (), str(uvx))
    assert re.fullmatch(r"counterpoint-mcp(@\S+)?", " ".join(by_uvx.args))
