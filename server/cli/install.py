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

NAME = "counterpoint"
PACKAGE = "counterpoint-mcp"


@dataclass(frozen=True, slots=True)
class Client:
    title: str
    user: Callable[[], Path]
    project: str = ""  # its file within a project; "" where it has none
    key: str = "mcpServers"  # under which its file keeps servers
    typed: bool = False  # its entries say how the server is spoken to


def programs() -> Path:
    """Where programs keep their settings: ~/.config, ~/Library/Application Support or %APPDATA%."""
    return Path(platformdirs.user_config_dir(roaming=True))


CLIENTS: Mapping[str, Client] = {
    "claude-desktop": Client("Claude Desktop", lambda: programs() / "Claude" / "claude_desktop_config.json"),
    "cursor": Client("Cursor", lambda: Path.home() / ".cursor" / "mcp.json", ".cursor/mcp.json"),
    "vscode": Client(
        "VS Code",
        lambda: programs() / "Code" / "User" / "mcp.json",
        ".vscode/mcp.json",
        key="servers",
        typed=True,
    ),
    "windsurf": Client("Windsurf", lambda: Path.home() / ".codeium" / "windsurf" / "mcp_config.json"),
}
CLAUDE_CODE = "claude-code"  # keeps its servers by a command of its own


class Untouched(Exception):  # noqa: N818  (it is named for what happened)
    """The file cannot be added to, and was not. The text says why."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How a client starts this server."""

    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()

    def entry(self, *, typed: bool = False) -> dict[str, Any]:
        entry: dict[str, Any] = {"type": "stdio"} if typed else {}
        entry |= {"command": self.command, "args": list(self.args)}
        return entry | ({"env": dict(self.env)} if self.env else {})


def launch(argv0: str = "") -> Launch:
    """Absolute, because clients start programs without the user's PATH."""
    try:
        release = version(PACKAGE)
    except PackageNotFoundError:  # run from a checkout that was never installed
        release = ""
    windows = ".exe" if os.name == "nt" else ""
    running = Path(argv0 or sys.argv[0]).absolute()
    for script in (running, running.with_suffix(windows), Path(sys.executable).parent / f"{NAME}{windows}"):
        if script.stem == NAME and script.is_file():
            uvx = shutil.which("uvx")
            if uvx and {"archive-v0", "environments-v2"} & set(script.parts):
                # uvx runs programs out of its cache, which is emptied now and then.
                return Launch(uvx, ("--from", f"{PACKAGE}=={release}" if release else PACKAGE, NAME))
            return Launch(str(script))
    checkout = (("PYTHONPATH", str(Path(__file__).parents[1])),)
    return Launch(sys.executable, ("-m", "server"), () if release else checkout)


def merged(text: str, key: str, entry: Mapping[str, Any]) -> dict[str, Any]:
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
        raise Untouched(
            f"it is not plain JSON (line {error.lineno}, column {error.colno}: {error.msg}){comments}"
        ) from None
    servers = config.setdefault(key, {}) if isinstance(config, dict) else None
    if not isinstance(servers, dict) or not isinstance(servers.get(NAME, {}), dict):
        raise Untouched(f'it has no object of servers under "{key}"')
    present = servers.get(NAME, {})
    servers[NAME] = {**present, **entry}
    if isinstance(present.get("env"), dict):
        servers[NAME]["env"] = {**present["env"], **entry.get("env", {})}
    return config


def add_to(path: Path, key: str, entry: Mapping[str, Any]) -> tuple[bool, Path | None]:
    """(whether the file was changed, the copy of what it was).

    Raises:
        Untouched: it is not plain JSON, or cannot be read or written.
    """
    path = path.resolve()  # a link stays one: the file it names is replaced
    try:
        text = path.read_text(encoding="utf-8-sig") if path.exists() else ""
        config = merged(text, key, entry)
        if text.strip() and json.loads(text) == config:
            return False, None
        path.parent.mkdir(parents=True, exist_ok=True)
        copy = None
        if path.exists():
            copy = path.with_name(f"{path.name}.{datetime.now().astimezone():%Y%m%dT%H%M%S%f}.bak")
            shutil.copy2(path, copy)
        indent = re.search(r"^\{\s*?\n([ \t]+)", text)
        written = json.dumps(config, ensure_ascii=False, indent=indent[1] if indent else 2)
        write_atomically(path, written + "\n", private=bool(entry.get("env")))
    except UnicodeDecodeError:
        raise Untouched("it is not UTF-8 text") from None
    except OSError as error:
        raise Untouched(f"{error.strerror or error}") from None
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
    "names",
    multiple=True,
    metavar="NAME",
    help="Copy this variable's present value, such as a key, into the configuration. Repeatable.",
)
@click.option("--project", is_flag=True, help="The file of the project in this folder, not the user's.")
@click.option("--yes", is_flag=True, help="claude-code: run the command instead of showing it.")
def install(client: str, only_print: bool, names: Sequence[str], project: bool, yes: bool) -> None:
    """Add Counterpoint to the configuration of CLIENT.

    The file is merged, not replaced: everything else in it stays, and a copy with the time in its name
    is kept beside it. Keys are passed on only where you name them with --env.

    Example: counterpoint install claude-desktop --env OPENAI_API_KEY
    """
    if missing := [name for name in names if name not in os.environ]:
        raise click.UsageError(f"--env {missing[0]}: there is no such variable in the environment.")
    started = launch()
    if names:
        click.echo(
            f"Warning: the value of {', '.join(names)} is copied in plain text, for everything that reads "
            f"{'the project' if project else 'the configuration'}.",
            err=True,
        )
    if client == CLAUDE_CODE:
        claude_code(started, names, project=project, run=yes and not only_print)
        return
    row = CLIENTS[client]
    if project and not row.project:
        raise click.UsageError(f"{row.title} has no configuration of projects. Leave out --project.")
    path = Path.cwd() / row.project if project else row.user()
    if only_print:
        shown = Launch(
            started.command, started.args, (*started.env, *((n, f"<value of {n}>") for n in names))
        )
        click.echo(f"To be merged into {path}:", err=True)
        click.echo(json.dumps({row.key: {NAME: shown.entry(typed=row.typed)}}, indent=2))
        return
    given = (*started.env, *((name, os.environ[name]) for name in names))
    write_entry(client, row, path, Launch(started.command, started.args, given).entry(typed=row.typed))


def write_entry(client: str, row: Client, path: Path, entry: Mapping[str, Any]) -> None:
    try:
        changed, copy = add_to(path, row.key, entry)
    except Untouched as why:
        raise click.ClickException(
            f"{path} was not touched: {why}. Add by hand what `counterpoint install {client} --print` shows."
        ) from None
    if not changed:
        click.echo(f"{path} has it already.")
        return
    click.echo(f"Added to {path}." + (f" Before, it was {copy}." if copy else ""))
    click.echo(f"Restart {row.title} to use it.")


def claude_code(started: Launch, names: Sequence[str], *, project: bool, run: bool) -> None:
    """Claude Code's own command: shown, or run where it is asked for and there."""
    fixed = [f"{name}={value}" for name, value in started.env]
    shown = shlex.join(add_command(started, [*fixed, *(f"{n}=${n}" for n in names)], project=project))
    for name in names:  # a value is for nobody's eyes: the shell puts it in
        shown = shown.replace(shlex.quote(f"{name}=${name}"), f'{name}="${name}"')
    click.echo(shown)
    program = shutil.which("claude")
    if not run:
        hint = "Run it, or add --yes." if program else "Run it where Claude Code is installed."
        click.echo(hint, err=True)
        return
    if program is None:
        raise click.ClickException("`claude` is not installed here, or not on the PATH. Nothing was done.")
    command = add_command(started, [*fixed, *(f"{n}={os.environ[n]}" for n in names)], project=project)
    sys.exit(subprocess.run([program, *command[1:]], check=False).returncode)  # noqa: S603  (shown above)


def add_command(started: Launch, env: Sequence[str], *, project: bool) -> list[str]:
    # `--env` takes all words up to the next option, so it stands before one.
    passed = [word for pair in env for word in ("--env", pair)]
    scope = ["--scope", "project" if project else "user"]
    return ["claude", "mcp", "add", *passed, *scope, NAME, "--", started.command, *started.args]
