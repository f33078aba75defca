"""The clients that can be set up: for each, the place of its configuration and the shape of an entry."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platformdirs import user_config_dir

from server.client_configs.documents import Syntax
from server.client_configs.launch import SERVER_NAME, LaunchCommand

Entry = dict[str, Any]
BuildEntry = Callable[[LaunchCommand, Mapping[str, str]], Entry]

TIMEOUT = 300  # seconds for a call of a tool, for clients with a shorter default
START_TIMEOUT = 60

USERS_OWN = ("required", "startup_timeout_sec", "tool_timeout_sec", "timeout")
"""Fields of an entry that stay as they are where a user has set them."""


def build_entry(launch: LaunchCommand, env: Mapping[str, str]) -> Entry:
    return {"command": launch.command, "args": [*launch.args], **({"env": {**env}} if env else {})}


def build_typed_entry(launch: LaunchCommand, env: Mapping[str, str]) -> Entry:
    return {"type": "stdio", **build_entry(launch, env)}


def build_codex_entry(launch: LaunchCommand, env: Mapping[str, str]) -> Entry:
    """An entry for Codex, which passes on variables by name and has no references.

    `codex exec` waits only for required servers; without that it would see no tools. A first start by uvx takes longer
    than the 10 s that Codex allows by default.
    """
    values = {name: value for name, value in env.items() if value}
    names = [name for name, value in env.items() if not value]
    variables = {"env_vars": names} if names else {}
    return {
        **build_entry(launch, values),
        **variables,
        "required": True,
        "startup_timeout_sec": START_TIMEOUT,
        "tool_timeout_sec": TIMEOUT,
    }


def build_copilot_entry(launch: LaunchCommand, env: Mapping[str, str]) -> Entry:
    return {"type": "local", **build_entry(launch, env), "tools": ["*"]}


def build_opencode_entry(launch: LaunchCommand, env: Mapping[str, str]) -> Entry:
    entry: Entry = {"type": "local", "command": [launch.command, *launch.args], "enabled": True}
    return entry | ({"environment": {**env}} if env else {})


def build_goose_entry(launch: LaunchCommand, env: Mapping[str, str]) -> Entry:
    return {
        "enabled": True,
        "type": "stdio",
        "name": SERVER_NAME,
        "cmd": launch.command,
        "args": [*launch.args],
        "envs": {**env},
        "timeout": TIMEOUT,
    }


def find_claude_desktop_config() -> Path:
    """The file of Claude Desktop. On Windows, the installer since 2026 keeps it below the folder of its package.

    Raises ValueError if there are two such packages.
    """
    if sys.platform == "win32":
        packages = sorted((Path(os.environ.get("LOCALAPPDATA", "")) / "Packages").glob("Claude_*"))
        if len(packages) > 1:
            raise ValueError(
                f"{packages[0]} and {packages[1]} are both there. Remove the one that is not in use"
            )
        if packages:
            return packages[0] / "LocalCache" / "Roaming" / "Claude" / "claude_desktop_config.json"
    return Path(user_config_dir(roaming=True)) / "Claude" / "claude_desktop_config.json"


def find_zed_settings() -> Path:
    folder = (
        Path(user_config_dir("Zed", False, roaming=True))
        if sys.platform == "win32"
        else config_home() / "zed"
    )
    return folder / "settings.json"


def find_goose_config() -> Path:
    is_windows = sys.platform == "win32"
    folder = (
        Path(user_config_dir(roaming=True)) / "Block" / "goose" / "config"
        if is_windows
        else config_home() / "goose"
    )
    return folder / "config.yaml"


def config_home() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def below_config(*parts: str) -> Callable[[], Path]:
    """Below ~/.config, ~/Library/Application Support or %APPDATA%."""
    return lambda: Path(user_config_dir(roaming=True), *parts)


def below_home(*parts: str) -> Callable[[], Path]:
    return lambda: Path.home().joinpath(*parts)


@dataclass(frozen=True, slots=True)
class Client:
    title: str
    find_user_file: Callable[[], Path]
    project_file: str = ""  # relative to the project's folder; "" where the client has none
    reference: str | None = None
    """How the file refers to a variable `{name}` of the environment; "" if its name is enough; None if it cannot."""

    servers: tuple[str, ...] = ("mcpServers",)
    syntax: Syntax = "json"
    build_entry: BuildEntry = build_entry
    is_listed: bool = False  # servers are a list of objects with names
    new_file: str = ""  # the content of a new file
    other_name: str = ""  # another file name that the client reads
    remark: str = ""  # what else a user has to do to see the tools

    @property
    def entry_path(self) -> tuple[str, ...]:
        """The keys that lead to the entry in the configuration."""
        return (*self.servers, SERVER_NAME)

    def find_file(self, folder: Path | None) -> Path:
        """The project's file in a folder, or the user's file. Raises ValueError if there are two."""
        path = folder / self.project_file if folder else self.find_user_file()
        other_path = path.with_name(self.other_name) if self.other_name else path
        if other_path == path or not other_path.exists():
            return path
        if path.exists():
            raise ValueError(
                f"{path} and {other_path} are both there, and {self.title} reads both. Make one of them"
            )
        return other_path


CLIENTS = {
    "claude-desktop": Client("Claude Desktop", find_claude_desktop_config),
    "claude-code": Client(
        "Claude Code",
        below_home(".claude.json"),
        ".mcp.json",
        "${{{name}}}",
        remark="It shows its model start_debate always, and the other tools once they are searched for.",
    ),
    "cursor": Client("Cursor", below_home(".cursor", "mcp.json"), ".cursor/mcp.json", "${{env:{name}}}"),
    "vscode": Client(
        "VS Code",
        below_config("Code", "User", "mcp.json"),
        ".vscode/mcp.json",
        "${{env:{name}}}",
        servers=("servers",),
        build_entry=build_typed_entry,
    ),
    "vscode-insiders": Client(
        "VS Code Insiders",
        below_config("Code - Insiders", "User", "mcp.json"),
        ".vscode/mcp.json",
        "${{env:{name}}}",
        servers=("servers",),
        build_entry=build_typed_entry,
    ),
    "windsurf": Client("Windsurf", below_home(".codeium", "windsurf", "mcp_config.json")),
    "codex": Client(
        "Codex",
        lambda: Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "config.toml",
        ".codex/config.toml",
        "",
        servers=("mcp_servers",),
        syntax="toml",
        build_entry=build_codex_entry,
        remark="With `required = true` Codex does not start without it: `codex exec` would not wait for its tools.",
    ),
    "gemini": Client(
        "Gemini CLI",
        below_home(".gemini", "settings.json"),
        ".gemini/settings.json",
        "${{{name}}}",
        remark="Gemini CLI starts no servers in a folder that it does not trust: trust the folder when it asks, or "
        "with `/permissions` in it. Without a person, `gemini --skip-trust` does for one run.",
    ),
    "qwen": Client("Qwen Code", below_home(".qwen", "settings.json"), ".qwen/settings.json", "${{{name}}}"),
    "opencode": Client(
        "opencode",
        lambda: config_home() / "opencode" / "opencode.json",
        "opencode.json",
        "{{env:{name}}}",
        servers=("mcp",),
        build_entry=build_opencode_entry,
        other_name="opencode.jsonc",
    ),
    "copilot": Client(
        "Copilot CLI",
        lambda: Path(os.environ.get("COPILOT_HOME") or Path.home() / ".copilot") / "mcp-config.json",
        ".github/mcp.json",
        "${{{name}}}",
        build_entry=build_copilot_entry,
    ),
    "continue": Client(
        "Continue",
        below_home(".continue", "config.yaml"),
        ".continue/mcpServers/counterpoint.yaml",
        "${{{{ secrets.{name} }}}}",
        syntax="yaml",
        is_listed=True,
        new_file="name: Counterpoint\nversion: 0.0.1\nschema: v1\nmcpServers: []\n",
    ),
    "zed": Client("Zed", find_zed_settings, servers=("context_servers",)),
    "goose": Client(
        "Goose", find_goose_config, servers=("extensions",), syntax="yaml", build_entry=build_goose_entry
    ),
    "cline": Client(
        "Cline",
        below_config(
            *("Code", "User", "globalStorage", "saoudrizwan.claude-dev", "settings"),
            "cline_mcp_settings.json",
        ),
    ),
    "lmstudio": Client("LM Studio", below_home(".lmstudio", "mcp.json")),
    "jetbrains": Client("Junie (JetBrains)", below_home(".junie", "mcp", "mcp.json"), ".junie/mcp/mcp.json"),
    "kiro": Client(
        "Kiro", below_home(".kiro", "settings", "mcp.json"), ".kiro/settings/mcp.json", "${{{name}}}"
    ),
}
