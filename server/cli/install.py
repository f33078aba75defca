"""`counterpoint install`: this server in the configuration of an MCP client.

Such a file belongs to somebody: what is in it is kept, in its order; a copy of it is made; it is replaced
whole or not at all; and a file that is not plain JSON is left alone.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import click
import platformdirs

SERVER_NAME = "counterpoint"
PACKAGE = "counterpoint-mcp"


@dataclass(frozen=True, slots=True)
class Client:
    title: str
    user_path: Callable[[], Path]
    project_path: str = ""  # its file within a project; "" where it has none
    servers_key: str = "mcpServers"  # under which its file keeps servers
    has_type_field: bool = False  # its entries say how the server is spoken to


def config_dir() -> Path:
    """Where programs keep their settings: ~/.config, ~/Library/Application Support or %APPDATA%."""
    return Path(platformdirs.user_config_dir(roaming=True))


CLIENTS: Mapping[str, Client] = {
    "claude-desktop": Client(
        "Claude Desktop", lambda: config_dir() / "Claude" / "claude_desktop_config.json"
    ),
    "cursor": Client("Cursor", lambda: Path.home() / ".cursor" / "mcp.json", ".cursor/mcp.json"),
    "vscode": Client(
        "VS Code",
        lambda: config_dir() / "Code" / "User" / "mcp.json",
        ".vscode/mcp.json",
        servers_key="servers",
        has_type_field=True,
    ),
    "windsurf": Client("Windsurf", lambda: Path.home() / ".codeium" / "windsurf" / "mcp_config.json"),
}
CLAUDE_CODE = "claude-code"  # keeps its servers by a command of its own


class ConfigUpdateError(Exception):
    """The file cannot be added to, and was not. The text says why."""


@dataclass(frozen=True, slots=True)
class LaunchCommand:
    """How a client starts this server."""

    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()

    def build_server_config(self, *, with_type: bool = False) -> dict[str, Any]:
        entry: dict[str, Any] = {"type": "stdio"} if with_type else {}
        entry |= {"command": self.command, "args": list(self.args)}
        return entry | ({"env": dict(self.env)} if self.env else {})


def find_launch_command(argv0: str = "") -> LaunchCommand:
    """Absolute, because clients start programs without the user's PATH."""
    try:
        release = version(PACKAGE)
    except PackageNotFoundError:  # run from a checkout that was never installed
        release = ""
    windows = ".exe" if os.name == "nt" else ""
    running = Path(argv0 or sys.argv[0]).absolute()
    for script in (
        running,
        running.with_suffix(windows),
        Path(sys.executable).parent / f"{SERVER_NAME}{windows}",
    ):
        if script.stem == SERVER_NAME and script.is_file():
            uvx = shutil.which("uvx")
            if uvx and {"archive-v0", "environments-v2"} & set(script.parts):
                # uvx runs programs out of its cache, which is emptied now and then.
                return LaunchCommand(
                    uvx, ("--from", f"{PACKAGE}=={release}" if release else PACKAGE, SERVER_NAME)
                )
            return LaunchCommand(str(script))
    checkout = (("PYTHONPATH", str(Path(__file__).parents[2])),)
    return LaunchCommand(sys.executable, ("-m", "counterpoint"), () if release else checkout)


def merge_config(text: str, servers_key: str, server_config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with the server in it. What somebody added to an earlier entry of ours stays.

    Raises:
        Untouched: the text is no configuration of this shape.
    """
    try:
        config = json.loads(text) if text.strip() else {}
    except json.JSONDecodeError as error:
        comments = (
            ", and comments in it would be lost" if re.search(r"(?:^|[\s{\[,])(?://|/\*)", text) else ""
        )
        raise ConfigUpdateError(
            f"it is not plain JSON (line {error.lineno}, column {error.colno}: {error.msg}){comments}"
        ) from None
    servers = config.setdefault(servers_key, {}) if isinstance(config, dict) else None
    if not isinstance(servers, dict) or not isinstance(servers.get(SERVER_NAME, {}), dict):
        raise ConfigUpdateError(f'it has no object of servers under "{servers_key}"')
    present = servers.get(SERVER_NAME, {})
    servers[SERVER_NAME] = {**present, **server_config}
    if isinstance(present.get("env"), dict):
        servers[SERVER_NAME]["env"] = {**present["env"], **server_config.get("env", {})}
    return config


def update_config_file(
    path: Path, servers_key: str, server_config: Mapping[str, Any]
) -> tuple[bool, Path | None]:
    """(whether the file was changed, the copy of what it was).

    Raises:
        Untouched: it is not plain JSON, or cannot be read or written.
    """
    path = path.resolve()  # a link stays one: the file it names is replaced
    try:
        text = path.read_text(encoding="utf-8-sig") if path.exists() else ""
        config = merge_config(text, servers_key, server_config)
        if text.strip() and json.loads(text) == config:
            return False, None
        path.parent.mkdir(parents=True, exist_ok=True)
        copy = None
        if path.exists():
            copy = path.with_name(f"{path.name}.{datetime.now().astimezone():%Y%m%dT%H%M%S%f}.bak")
            shutil.copy2(path, copy)
        indent = re.search(r"^\{\s*?\n([ \t]+)", text)
        written = json.dumps(config, ensure_ascii=False, indent=indent[1] if indent else 2)
        write_atomically(path, written + "\n", private=bool(server_config.get("env")))
    except UnicodeDecodeError:
        raise ConfigUpdateError("it is not UTF-8 text") from None
    except OSError as error:
        raise ConfigUpdateError(f"{error.strerror or error}") from None
    return True, copy


def write_atomically(path: Path, text: str, *, private: bool = False) -> None:
    """Replace a file by another, or leave it as it was. It keeps its permissions.

    Raises:
        OSError: it could not be written.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "w", encoding="utf-8", newline="\n", errors="replace") as file:  # noqa: PTH123  (a descriptor)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, name)
        elif not private:  # what mkstemp makes is readable by its owner alone
            Path(name).chmod(0o666 & ~umask())
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


@click.command()
@click.argument("client", type=click.Choice([*CLIENTS, CLAUDE_CODE]))
@click.option("--print", "only_print", is_flag=True, help="Only show what would be written, and where.")
@click.option(
    "--env",
    "env_names",
    multiple=True,
    metavar="NAME",
    help="Copy this variable's present value, such as a key, into the configuration. Repeatable.",
)
@click.option("--project", is_flag=True, help="The file of the project in this folder, not the user's.")
@click.option("--yes", is_flag=True, help="claude-code: run the command instead of showing it.")
def install(client: str, only_print: bool, env_names: Sequence[str], project: bool, yes: bool) -> None:
    """Add Counterpoint to the configuration of CLIENT.

    The file is merged, not replaced: everything else in it stays, and a copy with the time in its name
    is kept beside it. Keys are passed on only where you name them with --env.

    Example: counterpoint install claude-desktop --env OPENAI_API_KEY
    """
    if missing := [name for name in env_names if name not in os.environ]:
        raise click.UsageError(f"--env {missing[0]}: there is no such variable in the environment.")
    started = find_launch_command()
    if env_names:
        click.echo(
            f"Warning: the value of {', '.join(env_names)} is copied in plain text, for everything that reads "
            f"{'the project' if project else 'the configuration'}.",
            err=True,
        )
    if client == CLAUDE_CODE:
        install_in_claude_code(started, env_names, project=project, run_command=yes and not only_print)
        return
    row = CLIENTS[client]
    if project and not row.project_path:
        raise click.UsageError(f"{row.title} has no configuration of projects. Leave out --project.")
    path = Path.cwd() / row.project_path if project else row.user_path()
    if only_print:
        shown = LaunchCommand(
            started.command, started.args, (*started.env, *((n, f"<value of {n}>") for n in env_names))
        )
        click.echo(f"To be merged into {path}:", err=True)
        click.echo(
            json.dumps(
                {row.servers_key: {SERVER_NAME: shown.build_server_config(with_type=row.has_type_field)}},
                indent=2,
            )
        )
        return
    given = (*started.env, *((name, os.environ[name]) for name in env_names))
    write_server_config(
        client,
        row,
        path,
        LaunchCommand(started.command, started.args, given).build_server_config(with_type=row.has_type_field),
    )


def write_server_config(
    client_name: str, target: Client, path: Path, server_config: Mapping[str, Any]
) -> None:
    try:
        changed, copy = update_config_file(path, target.servers_key, server_config)
    except ConfigUpdateError as why:
        raise click.ClickException(
            f"{path} was not touched: {why}. Add by hand what `counterpoint install {client_name} --print` shows."
        ) from None
    if not changed:
        click.echo(f"{path} has it already.")
        return
    click.echo(f"Added to {path}." + (f" Before, it was {copy}." if copy else ""))
    click.echo(f"Restart {target.title} to use it.")


def install_in_claude_code(
    launch_command: LaunchCommand, env_names: Sequence[str], *, project: bool, run_command: bool
) -> None:
    """Claude Code's own command: shown, or run where it is asked for and there."""
    fixed = [f"{name}={value}" for name, value in launch_command.env]
    shown = shlex.join(
        build_add_command(launch_command, [*fixed, *(f"{n}=${n}" for n in env_names)], project=project)
    )
    for name in env_names:  # a value is for nobody's eyes: the shell puts it in
        shown = shown.replace(shlex.quote(f"{name}=${name}"), f'{name}="${name}"')
    click.echo(shown)
    program = shutil.which("claude")
    if not run_command:
        hint = "Run it, or add --yes." if program else "Run it where Claude Code is installed."
        click.echo(hint, err=True)
        return
    if program is None:
        raise click.ClickException("`claude` is not installed here, or not on the PATH. Nothing was done.")
    command = build_add_command(
        launch_command, [*fixed, *(f"{n}={os.environ[n]}" for n in env_names)], project=project
    )
    sys.exit(subprocess.run([program, *command[1:]], check=False).returncode)  # noqa: S603  (shown above)


def build_add_command(launch_command: LaunchCommand, env: Sequence[str], *, project: bool) -> list[str]:
    # `--env` takes all words up to the next option, so it stands before one.
    passed = [word for pair in env for word in ("--env", pair)]
    scope = ["--scope", "project" if project else "user"]
    return [
        "claude",
        "mcp",
        "add",
        *passed,
        *scope,
        SERVER_NAME,
        "--",
        launch_command.command,
        *launch_command.args,
    ]
