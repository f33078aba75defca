"""`counterpoint install`: adds this server to the configuration of an MCP client.

Everything else in the file is kept, in its order. The file is backed up and replaced atomically; a file that
is not plain JSON is not changed.
"""

import json
import os
import re
import secrets
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import click
from platformdirs import user_config_dir

from server.settings import package_version

SERVER_NAME = "counterpoint"
PACKAGE = "counterpoint-mcp"
ENV_HELP = "Copy the value of this variable, such as a key, into the configuration. Repeatable."


class Client(NamedTuple):
    title: str
    user_path: str  # {config}: ~/.config, ~/Library/Application Support or %APPDATA%
    project_path: str = ""  # relative to the project's folder; "" where the client has none
    servers_key: str = "mcpServers"
    has_type_field: bool = False  # entries name the transport


CLIENTS = {
    "claude-desktop": Client("Claude Desktop", "{config}/Claude/claude_desktop_config.json"),
    "cursor": Client("Cursor", "~/.cursor/mcp.json", ".cursor/mcp.json"),
    "vscode": Client("VS Code", "{config}/Code/User/mcp.json", ".vscode/mcp.json", "servers", True),
    "windsurf": Client("Windsurf", "~/.codeium/windsurf/mcp_config.json"),
}
CLAUDE_CODE = "claude-code"  # has a command that edits its configuration


class LaunchCommand(NamedTuple):
    """How a client starts this server."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}


def find_launch_command(argv0: str = "") -> LaunchCommand:
    """An absolute path, because clients start programs without the user's PATH."""
    release = package_version(missing="")
    suffix = ".exe" if os.name == "nt" else ""
    running = Path(argv0 or sys.argv[0]).absolute()
    installed = Path(sys.executable).parent / f"{SERVER_NAME}{suffix}"
    for script in (running, running.with_suffix(suffix), installed):
        if script.stem == SERVER_NAME and script.is_file():
            uvx = shutil.which("uvx")
            if uvx and {"archive-v0", "environments-v2"} & set(script.parts):
                # The script is in uvx's cache, which is emptied now and then.
                package = f"{PACKAGE}=={release}" if release else PACKAGE
                return LaunchCommand(uvx, ("--from", package, SERVER_NAME))
            return LaunchCommand(str(script))
    environment = {} if release else {"PYTHONPATH": str(Path(__file__).parents[2])}
    return LaunchCommand(sys.executable, ("-m", "counterpoint"), environment)


def merge_config(text: str, servers_key: str, server_config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with the server in it, and with the fields that the user added to our entry.

    Raises ValueError, with the reason, for a text that is no configuration of this shape.
    """
    try:
        config = json.loads(text) if text.strip() else {}
    except json.JSONDecodeError as error:
        has_comments = re.search(r"(?:^|[\s{\[,])(?://|/\*)", text)
        hint = ", and comments in it would be lost" if has_comments else ""
        place = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise ValueError(f"it is not plain JSON ({place}){hint}") from None
    servers = config.setdefault(servers_key, {}) if isinstance(config, dict) else None
    present = servers.get(SERVER_NAME, {}) if isinstance(servers, dict) else None
    if not isinstance(servers, dict) or not isinstance(present, dict):
        raise ValueError(f'it has no object of servers under "{servers_key}"')  # noqa: TRY004  (of the text)
    servers[SERVER_NAME] = {**present, **server_config}
    if isinstance(present.get("env"), dict):
        servers[SERVER_NAME]["env"] = {**present["env"], **server_config.get("env", {})}
    return config


def update_config_file(
    path: Path, servers_key: str, server_config: Mapping[str, Any]
) -> tuple[bool, Path | None]:
    """(whether it was changed, its backup if there was a file). Raises OSError, and as `merge_config`."""
    path = path.resolve()  # a link stays a link: its target is replaced
    text = path.read_text(encoding="utf-8-sig") if path.exists() else ""
    config = merge_config(text, servers_key, server_config)
    if text.strip() and json.loads(text) == config:
        return False, None
    path.parent.mkdir(parents=True, exist_ok=True)
    backup = None
    if path.exists():
        backup = path.with_name(f"{path.name}.{datetime.now().astimezone():%Y%m%dT%H%M%S%f}.bak")
        shutil.copy2(path, backup)
    indent = re.search(r"^\{\s*?\n([ \t]+)", text)
    content = json.dumps(config, ensure_ascii=False, indent=indent[1] if indent else 2)
    write_atomically(path, content + "\n", private=bool(server_config.get("env")))
    return True, backup


def write_atomically(path: Path, text: str, *, private: bool = False) -> None:
    """Replace a file, or leave it as it was. Its permissions are kept; a new private one is its owner's alone.

    Raises:
        OSError: it could not be written.
    """
    copy = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        copy.touch(0o600 if private or path.exists() else 0o666, exist_ok=False)
        with copy.open("w", encoding="utf-8", newline="\n", errors="replace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, copy)
        copy.replace(path)
    finally:
        copy.unlink(missing_ok=True)


@click.command()
@click.argument("client", type=click.Choice([*CLIENTS, CLAUDE_CODE]))
@click.option("--print", "only_print", is_flag=True, help="Only show what would be written, and where.")
@click.option("--env", "env_names", multiple=True, metavar="NAME", help=ENV_HELP)
@click.option("--project", is_flag=True, help="Use the file of the project in this folder, not the user's.")
@click.option("--yes", is_flag=True, help="claude-code: run the command instead of showing it.")
def install(client: str, only_print: bool, env_names: Sequence[str], project: bool, yes: bool) -> None:
    """Add Counterpoint to the configuration of CLIENT.

    Everything else in the file is kept, and a backup with the time in its name is written beside it. Keys
    are passed on only if you name them with --env.

    Example: counterpoint install claude-desktop --env OPENAI_API_KEY
    """
    if missing := [name for name in env_names if name not in os.environ]:
        raise click.UsageError(f"--env {missing[0]}: the environment has no such variable.")
    launch = find_launch_command()
    if env_names:
        readers = "the project" if project else "the configuration"
        text = f"the value of {', '.join(env_names)} is stored in plain text, readable with {readers}."
        click.echo(f"Warning: {text}", err=True)
    if client == CLAUDE_CODE:
        install_in_claude_code(launch, env_names, project, run_command=yes and not only_print)
        return
    target = CLIENTS[client]
    if project and not target.project_path:
        raise click.UsageError(f"{target.title} has no configuration for projects. Leave out --project.")
    user_path = Path(target.user_path.format(config=user_config_dir(roaming=True))).expanduser()
    path = Path.cwd() / target.project_path if project else user_path
    env = {name: f"<value of {name}>" if only_print else os.environ[name] for name in env_names}
    server_config: dict[str, Any] = {"type": "stdio"} if target.has_type_field else {}
    server_config |= {"command": launch.command, "args": [*launch.args]}
    if env := {**launch.env, **env}:
        server_config["env"] = env
    if only_print:
        click.echo(f"To be merged into {path}:", err=True)
        click.echo(json.dumps({target.servers_key: {SERVER_NAME: server_config}}, indent=2))
        return
    try:
        changed, backup = update_config_file(path, target.servers_key, server_config)
    except (OSError, ValueError) as error:
        reason = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error
        raise click.ClickException(
            f"{path} was not changed: {getattr(error, 'strerror', None) or reason}. "
            f"Add by hand what `counterpoint install {client} --print` shows."
        ) from None
    if changed:
        backup_note = f" Backup: {backup}." if backup else ""
        click.echo(f"Added to {path}.{backup_note}\nRestart {target.title} to use it.")
    else:
        click.echo(f"{path} already has this server.")


def install_in_claude_code(
    launch: LaunchCommand, env_names: Sequence[str], project: bool, run_command: bool
) -> None:
    """Show Claude Code's own command, or run it."""
    # `--env` takes all words up to the next option, so an option follows it.
    begin = ["mcp", "add", *(word for row in launch.env.items() for word in ("--env", "=".join(row)))]
    end = ["--scope", "project" if project else "user", SERVER_NAME, "--", launch.command, *launch.args]
    # References that the shell replaces, so that no value is shown.
    references = "".join(f'--env {name}="${name}" ' for name in env_names)
    click.echo(f"claude {shlex.join(begin)} {references}{shlex.join(end)}")
    program = shutil.which("claude")
    if not run_command:
        click.echo("Run it, or add --yes." if program else "Run it where Claude Code is installed.", err=True)
        return
    if program is None:
        raise click.ClickException("`claude` is not installed, or not on the PATH. Nothing was changed.")
    values = [word for name in env_names for word in ("--env", f"{name}={os.environ[name]}")]
    sys.exit(subprocess.run([program, *begin, *values, *end], check=False).returncode)  # noqa: S603  (shown above)
