"""`counterpoint install` and `uninstall`: this server in the configuration of an MCP client.

Everything else in the file stays, comments included. The file is backed up and replaced atomically.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio
import click

from server.client_configs.clients import CLIENTS, USERS_OWN, Client
from server.client_configs.documents import check_file, read_entry, remove_entry, set_entry
from server.client_configs.launch import (
    SERVER_NAME,
    SHARED_COMMAND,
    HandshakeError,
    LaunchCommand,
    choose_launch_command,
    count_tools,
)
from server.files import write_atomically

ENV_HELP = (
    "Pass on this variable, such as a key. With --project only a reference to it is written. Repeatable."
)

CLAUDE_CODE = "claude-code"  # changes its own file while it runs, and has a command for that

CLIENT_LIST = f"CLIENT is one of {', '.join(CLIENTS)}."

client_argument = click.argument("client", metavar="CLIENT", type=click.Choice([*CLIENTS]))
project_option = click.option(
    "--project", is_flag=True, help="Use the file of the project in this folder, not the user's."
)
print_option = click.option(
    "--print", "only_print", is_flag=True, help="Only show what would be written, and where."
)


@click.command(epilog=CLIENT_LIST)
@client_argument
@project_option
@click.option("--env", "env_names", multiple=True, metavar="NAME", help=ENV_HELP)
@print_option
@click.option("--no-check", is_flag=True, help="Do not start the server afterwards to see that it works.")
def install(client: str, project: bool, env_names: Sequence[str], only_print: bool, no_check: bool) -> None:
    """Add Counterpoint to the configuration of CLIENT.

    Everything else in the file is kept, and a backup with the time in its name is written beside it. Keys are passed
    on only if you name them with --env. Files of a project are for others, too: they get references to keys, never
    the keys, and a command that works on other machines.

    Example: counterpoint install claude-desktop --env OPENAI_API_KEY
    """
    target = CLIENTS[client]
    path = find_file(target, project=project)
    launch = SHARED_COMMAND if project else choose_launch_command()
    env = build_environment(target, launch, env_names, project=project, is_shown=only_print)
    entry = target.build_entry(launch, env)
    if only_print:
        click.echo(f"To be merged into {path}:", err=True)
        click.echo(add_entry(target, target.new_file, entry).rstrip())
        return
    if client == CLAUDE_CODE and not project:
        run_claude("add-json", "--scope", "user", SERVER_NAME, json.dumps(entry))
        click.echo(f"Added to {path}. Restart {target.title} to use it.")
    else:
        write_entry(client, path, entry)
    if not no_check:
        check(launch, env)


@click.command(epilog=CLIENT_LIST)
@client_argument
@project_option
@print_option
def uninstall(client: str, project: bool, only_print: bool) -> None:
    """Remove Counterpoint from the configuration of CLIENT. Its debates stay.

    Everything else in the file is kept, and a backup is written beside it.

    Example: counterpoint uninstall cursor
    """
    target = CLIENTS[client]
    path = find_file(target, project=project)
    text = read_text(client, path)
    try:
        entry = read_entry(text, target.syntax, target.entry_path)
        new_text = remove_entry(text, target.syntax, target.entry_path)
    except (ValueError, RecursionError) as error:
        raise build_refusal(client, path, error) from None
    if entry is None:
        click.echo(f"{path} has no such server.")
    elif only_print:
        click.echo(f"To be written to {path}:", err=True)
        click.echo(new_text.rstrip())
    elif client == CLAUDE_CODE and not project:
        run_claude("remove", "--scope", "user", SERVER_NAME)
        click.echo(f"Removed from {path}.")
    else:
        click.echo(f"Removed from {path}. Backup: {replace_file(client, path, new_text)}.")


def find_file(target: Client, *, project: bool) -> Path:
    if project and not target.project_file:
        raise click.UsageError(f"{target.title} has no configuration for projects. Leave out --project.")
    try:
        return target.find_file(Path.cwd() if project else None)
    except ValueError as error:
        raise click.ClickException(f"Nothing was changed: {error}.") from None


def build_environment(
    target: Client, launch: LaunchCommand, names: Sequence[str], *, project: bool, is_shown: bool
) -> dict[str, str]:
    """The variables of an entry: values for one user, references for a project, placeholders for --print."""
    if project:
        if target.reference is not None:
            return {name: target.reference.format(name=name) for name in names}
        if names:
            advice = f"Set {', '.join(names)} where {target.title} runs"
            click.echo(f"{advice}: it has no references to variables, and the file holds no value.", err=True)
        return {}
    if unset_names := [name for name in names if name not in os.environ and not is_shown]:
        name = unset_names[0]
        remedy = f"Set it, or leave --env out and store the key for all clients: counterpoint keys set {name}"
        raise click.UsageError(f"--env {name}: the environment has no such variable. {remedy}")
    if names and not is_shown:
        text = f"the value of {', '.join(names)} is stored in plain text, readable with the configuration."
        click.echo(f"Warning: {text}", err=True)
    return {**launch.env, **{name: f"<value of {name}>" if is_shown else os.environ[name] for name in names}}


def add_entry(target: Client, text: str, entry: Mapping[str, Any]) -> str:
    return set_entry(text, target.syntax, target.entry_path, entry, is_listed=target.is_listed)


def write_entry(client: str, path: Path, entry: Mapping[str, Any]) -> None:
    """Merge an entry into a file: fields that the user added to it stay."""
    target, text = CLIENTS[client], read_text(client, path) or CLIENTS[client].new_file
    try:
        old_entry = read_entry(text, target.syntax, target.entry_path) or {}
        merged = {**old_entry, **entry, **{name: old_entry[name] for name in USERS_OWN if name in old_entry}}
        for name in ("env", "environment", "envs"):
            if isinstance(old_entry.get(name), dict):
                merged[name] = {**old_entry[name], **entry.get(name, {})}
        new_text = add_entry(target, text, merged)
    except (ValueError, RecursionError) as error:
        raise build_refusal(client, path, error) from None
    if old_entry == merged:
        click.echo(f"{path} already has this server.")
        return
    backup = replace_file(client, path, new_text, private=bool(entry.keys() & {"env", "environment", "envs"}))
    backup_note = f" Backup: {backup}." if backup else ""
    click.echo(f"Added to {path}.{backup_note}\nRestart {target.title} to use it. {target.remark}".rstrip())


def read_text(client: str, path: Path) -> str:
    """The content of the file; "" if there is none."""
    try:
        if not os.path.lexists(path):
            return ""
        check_file(path)
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise build_refusal(client, path, error) from None


def replace_file(client: str, path: Path, text: str, *, private: bool = False) -> Path | None:
    """Write the text, and return the path of the backup, if there was a file."""
    try:
        path = path.resolve()  # a link stays a link: its target is replaced
        path.parent.mkdir(parents=True, exist_ok=True)
        backup = None
        if path.exists():  # its permissions stay
            private = False
            backup = path.with_name(f"{path.name}.{datetime.now().astimezone():%Y%m%dT%H%M%S%f}.bak")
            shutil.copy2(path, backup)
        write_atomically(path, text if text.endswith("\n") else f"{text}\n", private=private)
    except OSError as error:
        raise build_refusal(client, path, error) from None
    return backup


def build_refusal(client: str, path: Path, error: Exception) -> click.ClickException:
    reason: object = error
    if isinstance(error, UnicodeDecodeError):
        reason = "it is not UTF-8 text"
    elif isinstance(error, RecursionError):
        reason = "it is nested too deeply to be read"
    return click.ClickException(
        f"{path} was not changed: {getattr(error, 'strerror', None) or reason}. "
        f"Change by hand what `counterpoint install {client} --print` shows."
    )


def run_claude(*arguments: str) -> None:
    """Have Claude Code change its own configuration."""
    program = shutil.which("claude")
    if program is None:
        by_hand = "Install it, or use --project, or merge what --print shows."
        raise click.ClickException(f"`claude` is not on the PATH. Nothing was changed. {by_hand}")
    try:
        process = subprocess.run([program, "mcp", *arguments], capture_output=True, text=True, check=True)  # noqa: S603
    except OSError as error:
        raise click.ClickException(
            f"{program} cannot be run: {error.strerror}. Nothing was changed."
        ) from None
    except subprocess.CalledProcessError as error:
        output = " ".join((error.stderr or error.stdout).split())
        raise click.ClickException(f"`claude mcp {arguments[0]}` failed: {output}") from None
    if process.stdout.strip():
        click.echo(process.stdout.strip(), err=True)


def check(launch: LaunchCommand, env: Mapping[str, str]) -> None:
    """Start the server as the client will, and say whether it answers. Exits with 1 where it does not."""
    try:
        count, seconds = anyio.run(count_tools, launch.command, launch.args, {**launch.env, **env})
    except HandshakeError as error:
        command = shlex.join([launch.command, *launch.args])
        hint = " Who uses the file needs uv (`pip install uv`)." if launch == SHARED_COMMAND else ""
        click.echo(f"Written, but the server did not start with `{command}`: {error}.{hint}", err=True)
        sys.exit(1)
    click.echo(f"Checked: the server starts in {seconds:.1f} s and offers {count} tools.")
