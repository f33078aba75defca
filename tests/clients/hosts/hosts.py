"""Real hosts without a person: each has a home of its own, our server, and a stand-in for its model's provider."""

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.support.patience import START_PATIENCE

MODULES = Path(__file__).with_name("node_modules")
PROMPT = "Get a second opinion."

CLOSED_PORT = "http://127.0.0.1:9"
"""The proxy of everything but loopback: a host that wants more than its model's provider finds nobody."""


@dataclass(frozen=True)
class Server:
    """How a host starts our server."""

    command: Sequence[str]
    environment: dict[str, str]


@dataclass(frozen=True)
class Host:
    name: str
    program: str  # within node_modules, where "*" stands for the machine
    shows: Literal["data", "text"]  # which form of a result the model is shown
    prepare: Callable[[Path, str, Server, str], tuple[list[str], dict[str, str]]]
    """From the home, the provider's address, our server and a prompt to the arguments and variables of the program."""

    between: str = "\n\n"  # what stands between two texts of a result
    has_commands: bool = False  # a prompt of a server is one

    def run(self, home: Path, url: str, server: Server, prompt: str) -> str:
        """Let the host answer one prompt; returns what it printed, or raises with what it complained of."""
        program = min(MODULES.glob(self.program))  # not the variant for musl, which may lie beside it
        arguments, own = self.prepare(home, url, server, prompt)
        proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), CLOSED_PORT)
        basic = {"PATH": os.environ["PATH"], "HOME": str(home), "NO_PROXY": "127.0.0.1,localhost", **proxies}
        done = subprocess.run(
            [str(program), *arguments],
            cwd=home,
            env={**basic, **own},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=2 * START_PATIENCE,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def prepare_claude_code(
    home: Path, url: str, server: Server, prompt: str
) -> tuple[list[str], dict[str, str]]:
    command, *arguments = server.command
    entry = {"command": command, "args": arguments, "env": server.environment}
    settings = home / "servers.json"
    settings.write_text(json.dumps({"mcpServers": {"counterpoint": entry}}))
    flags = ["--mcp-config", str(settings), "--strict-mcp-config", "--allowedTools", "mcp__counterpoint"]
    return ["-p", prompt, *flags], {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "stand-in",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def prepare_codex(home: Path, url: str, server: Server, prompt: str) -> tuple[list[str], dict[str, str]]:
    """`required` makes it wait for our server. It knows the model's name: of others it cuts results at 12 kB."""
    settings = {
        "model": "gpt-5.5",
        "model_provider": "stand-in",
        "approval_policy": "never",
        "sandbox_mode": "danger-full-access",
        "model_providers.stand-in.name": "stand-in",
        "model_providers.stand-in.base_url": f"{url}/v1",
        "model_providers.stand-in.wire_api": "responses",
        "model_providers.stand-in.env_key": "STAND_IN_KEY",
        "mcp_servers.counterpoint.command": server.command[0],
        "mcp_servers.counterpoint.args": server.command[1:],
        "mcp_servers.counterpoint.required": True,
        **{f"mcp_servers.counterpoint.env.{name}": value for name, value in server.environment.items()},
    }
    lines = [
        f"{name} = {json.dumps(value)}\n" for name, value in settings.items()
    ]  # JSON's values are TOML's too
    (home / "config.toml").write_text("".join(lines))
    return ["exec", "--skip-git-repo-check", prompt], {"CODEX_HOME": str(home), "STAND_IN_KEY": "stand-in"}


def prepare_opencode(home: Path, url: str, server: Server, prompt: str) -> tuple[list[str], dict[str, str]]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": "stand-in"},
        "models": {"model": {"name": "model"}},
    }
    entry = {"type": "local", "command": [*server.command], "environment": server.environment}
    settings = {
        "provider": {"stand-in": provider},
        "model": "stand-in/model",
        "small_model": "stand-in/model",
        "autoupdate": False,
        "share": "disabled",
        "mcp": {"counterpoint": entry},
    }
    (home / "opencode.json").write_text(json.dumps(settings))
    return ["run", prompt], {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}


def write_settings(file: Path, server: Server, auth: str) -> None:
    """The settings of Gemini CLI, and of Qwen Code, which was made from it."""
    command, *arguments = server.command
    entry = {"command": command, "args": arguments, "env": server.environment, "trust": True}
    entry["cwd"] = server.environment["PYTHONPATH"]  # which Gemini CLI does not pass on
    settings = {
        "mcpServers": {"counterpoint": entry},
        "security": {"auth": {"selectedType": auth}},
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    file.parent.mkdir()
    file.write_text(json.dumps(settings))


def prepare_gemini(home: Path, url: str, server: Server, prompt: str) -> tuple[list[str], dict[str, str]]:
    write_settings(home / ".gemini" / "settings.json", server, "gemini-api-key")
    return ["-p", prompt, "--skip-trust", "--yolo", "-m", "gemini-2.5-flash"], {
        "GEMINI_API_KEY": "stand-in",
        "GOOGLE_GEMINI_BASE_URL": url,
    }


def prepare_qwen(home: Path, url: str, server: Server, prompt: str) -> tuple[list[str], dict[str, str]]:
    write_settings(home / ".qwen" / "settings.json", server, "openai")
    return ["-p", prompt, "--yolo"], {
        "OPENAI_API_KEY": "stand-in",
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_MODEL": "model",
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), ""),  # it heeds no NO_PROXY
    }


HOSTS = [
    Host(
        "Claude Code",
        "@anthropic-ai/claude-code-linux-*/claude",
        "data",
        prepare_claude_code,
        has_commands=True,
    ),
    Host("Codex", "@openai/codex-linux-*/vendor/*/bin/codex", "data", prepare_codex),
    Host("opencode", "opencode-linux-*/bin/opencode", "text", prepare_opencode),
    Host("Gemini CLI", ".bin/gemini", "text", prepare_gemini, between="\n"),
    Host("Qwen Code", ".bin/qwen", "text", prepare_qwen, between="\n"),
]
