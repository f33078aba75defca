"""Settings: the environment, and a file in TOML or JSON."""

import json
from pathlib import Path
from typing import Any

import pytest

from server.settings import InvalidSettingsError, ResearchServer, Settings

pytestmark = pytest.mark.requirement("C6")

NOTES = {"command": "npx", "args": ["-y", "notes"], "env": {"NOTES_KEY": "hidden-key"}, "cwd": "/tmp"}  # noqa: S108
LIBRARY = {"url": "https://library.example/mcp?key=hidden-key", "headers": {"X": "hidden-key"}}


def from_environment(servers: Any) -> Settings:
    text = servers if isinstance(servers, str) else json.dumps(servers)
    return Settings.read({"COUNTERPOINT_MCP_SERVERS": text})


def test_servers_are_written_as_other_clients_write_them() -> None:
    foreign = {"type": "stdio", "disabled": False, "autoApprove": ["find"]}

    read = from_environment({"notes": {**NOTES, **foreign}, "library": LIBRARY}).mcp_servers

    assert read["notes"] == ResearchServer.model_validate(NOTES)
    assert (read["notes"].timeout, read["notes"].debaters, read["notes"].tools) == (30, False, None)
    assert read["library"].url == LIBRARY["url"]


def test_a_block_may_be_pasted_with_its_heading() -> None:
    assert list(from_environment({"mcpServers": {"notes": NOTES}}).mcp_servers) == ["notes"]


def test_a_server_that_is_switched_off_is_not_there() -> None:
    assert (
        from_environment({"notes": {**NOTES, "disabled": True}, "odd": {"disabled": True}}).mcp_servers == {}
    )


@pytest.mark.parametrize("name", ["settings.toml", "settings.json"])
def test_the_file_is_toml_or_json(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(
        json.dumps({"models": ["scripted"], "mcpServers": {"notes": NOTES}})
        if name.endswith("json")
        else 'models = ["scripted"]\n[mcpServers.notes]\ncommand = "npx"\nargs = ["-y", "notes"]\n'
        'cwd = "/tmp"\nenv = { NOTES_KEY = "hidden-key" }\n',
        encoding="utf-8",
    )

    settings = Settings.read({"COUNTERPOINT_CONFIG": str(path)})

    assert settings.models == ("scripted",)
    assert settings.mcp_servers == {"notes": ResearchServer.model_validate(NOTES)}


@pytest.mark.parametrize("key", ["mcpServers", "mcp_servers"])
def test_the_environment_wins_over_the_file(tmp_path: Path, key: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({key: {"notes": NOTES}}), encoding="utf-8")
    servers = json.dumps({"library": LIBRARY})

    settings = Settings.read({"COUNTERPOINT_CONFIG": str(path), "COUNTERPOINT_MCP_SERVERS": servers})

    assert list(settings.mcp_servers) == ["library"]


@pytest.mark.parametrize(
    ("servers", "said"),
    [
        ({"notes": {}}, "mcpServers.notes (COUNTERPOINT_MCP_SERVERS): needs a command, or a url"),
        ({"notes": {**NOTES, **LIBRARY}}, "and not both"),
        ({"notes": {"url": "hidden-key:/x"}}, "its url has to begin with http:// or https://"),
        ({"no tes": NOTES}, "'no tes' is no name"),
        ({"n" * 41: NOTES}, "is no name"),
        ({"notes": {**NOTES, "timeout": 0}}, "mcpServers.notes.timeout"),
        ({"notes": {**NOTES, "timeout": 301}}, "mcpServers.notes.timeout"),
        ({"notes": {**NOTES, "env": {"NOTES_KEY": ["hidden-key"]}}}, "mcpServers.notes.env.NOTES_KEY"),
        ({"notes": "hidden-key"}, "mcpServers.notes"),
        (["hidden-key"], "it has to be an object of servers by name"),
        ('{"notes": "hidden-key', "it is no JSON"),
        ("[" * 100_000, "it is nested too deeply"),
    ],
)
def test_what_cannot_be_used_is_named_without_what_it_holds(servers: Any, said: str) -> None:
    with pytest.raises(InvalidSettingsError) as refused:
        from_environment(servers)

    assert said in str(refused.value)
    assert "hidden-key" not in f"{refused.value}{refused.value.__cause__}"


@pytest.mark.requirement("D9")
@pytest.mark.parametrize("name", ["CONCURRENCY", "PROVIDER_CONCURRENCY"])
def test_how_much_is_asked_at_a_time_has_bounds(name: str) -> None:
    assert getattr(Settings.read({f"COUNTERPOINT_{name}": "1"}), name.lower()) == 1
    for value in ("0", "1001", "many", "1.5"):
        with pytest.raises(
            InvalidSettingsError, match=f"The setting {name.lower()} \\(COUNTERPOINT_{name}\\)"
        ):
            Settings.read({f"COUNTERPOINT_{name}": value})


@pytest.mark.parametrize(
    ("name", "text"), [("a.json", "[1]"), ("a.json", "{"), ("a.toml", "mcpServers ="), ("no", "")]
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    if text:
        path.write_text(text, encoding="utf-8")

    with pytest.raises(
        InvalidSettingsError, match=f"The settings file {path} \\(COUNTERPOINT_CONFIG\\) cannot be read"
    ):
        Settings.read({"COUNTERPOINT_CONFIG": str(path)})


def test_keys_are_in_no_representation() -> None:
    settings = from_environment({"notes": NOTES, "library": LIBRARY})

    assert "hidden-key" not in f"{settings!r}{settings}{settings.mcp_servers}"
