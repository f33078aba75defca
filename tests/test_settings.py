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


def test_research_servers_are_read_in_the_notation_of_mcp_clients() -> None:
    foreign = {"type": "stdio", "disabled": False, "autoApprove": ["find"]}

    read = from_environment({"notes": {**NOTES, **foreign}, "library": LIBRARY}).mcp_servers

    assert read["notes"] == ResearchServer.model_validate(NOTES)
    assert (read["notes"].timeout, read["notes"].debaters, read["notes"].tools) == (30, False, None)
    assert read["library"].url == LIBRARY["url"]


def test_the_outer_key_mcp_servers_may_be_pasted_along() -> None:
    assert list(from_environment({"mcpServers": {"notes": NOTES}}).mcp_servers) == ["notes"]


def test_a_disabled_server_is_left_out() -> None:
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
    ("servers", "message"),
    [
        ({"notes": {}}, "mcpServers.notes (COUNTERPOINT_MCP_SERVERS): set either command or url"),
        ({"notes": {**NOTES, **LIBRARY}}, "set either command or url"),
        ({"notes": {"url": "hidden-key:/x"}}, "url must begin with http:// or https://"),
        ({"no tes": NOTES}, "'no tes' is not a name"),
        ({"n" * 41: NOTES}, "is not a name"),
        ({"notes": {**NOTES, "timeout": 0}}, "mcpServers.notes.timeout"),
        ({"notes": {**NOTES, "timeout": 301}}, "mcpServers.notes.timeout"),
        ({"notes": {**NOTES, "env": {"NOTES_KEY": ["hidden-key"]}}}, "mcpServers.notes.env.NOTES_KEY"),
        ({"notes": "hidden-key"}, "mcpServers.notes"),
        (["hidden-key"], "must be an object of servers by name"),
        ('{"notes": "hidden-key', "not valid JSON"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_an_unusable_setting_is_named_without_its_value(servers: Any, message: str) -> None:
    with pytest.raises(InvalidSettingsError) as refused:
        from_environment(servers)

    assert message in str(refused.value)
    assert "hidden-key" not in f"{refused.value}{refused.value.__cause__}"


@pytest.mark.requirement("D9")
@pytest.mark.parametrize(("name", "too_small"), [("CONCURRENCY", "0"), ("PROVIDER_CONCURRENCY", "-1")])
def test_concurrency_has_bounds(name: str, too_small: str) -> None:
    assert getattr(Settings.read({f"COUNTERPOINT_{name}": "1"}), name.lower()) == 1
    for value in (too_small, "1001", "many", "1.5"):
        with pytest.raises(
            InvalidSettingsError, match=f"The setting {name.lower()} \\(COUNTERPOINT_{name}\\)"
        ):
            Settings.read({f"COUNTERPOINT_{name}": value})


@pytest.mark.parametrize(
    ("name", "text"), [("a.json", "[1]"), ("a.json", "{"), ("a.toml", "mcpServers ="), ("no", "")]
)
def test_an_unusable_settings_file_is_named(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    if text:
        path.write_text(text, encoding="utf-8")

    with pytest.raises(
        InvalidSettingsError, match=f"The settings file {path} \\(COUNTERPOINT_CONFIG\\) cannot be read"
    ):
        Settings.read({"COUNTERPOINT_CONFIG": str(path)})


def test_keys_are_not_part_of_the_representation() -> None:
    settings = from_environment({"notes": NOTES, "library": LIBRARY})

    assert "hidden-key" not in f"{settings!r}{settings}{settings.mcp_servers}"
