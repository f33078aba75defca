"""`counterpoint keys`: keys of providers that are stored on this machine."""

import os
import sys

import click

from server.models.providers import keys as store
from server.models.registry import KEY_VARIABLES
from server.redaction import learn_secrets

name_argument = click.argument("name")


@click.group()
def keys() -> None:
    """Store, list or remove keys of providers.

    They are kept in the keyring of the system, or in a file that you alone can read.

    NAME is a provider (openai) or a variable (OPENAI_API_KEY). A variable of the environment wins over a stored key.

    Example: counterpoint keys set openai
    """


@keys.command("set")
@name_argument
@click.option("--stdin", "from_stdin", is_flag=True, help="Read the key from stdin, without a prompt.")
def set_key(name: str, *, from_stdin: bool) -> None:
    """Store the key of NAME. You are asked for it, and it is not shown while you type.

    It goes into the keyring where there is one (`pip install 'counterpoint-mcp[keyring]'`), else into a file.

    Example: counterpoint keys set openai
    """
    variable = store.parse_variable(name, KEY_VARIABLES)
    if not (from_stdin or sys.stdin.isatty()):
        raise click.UsageError("There is no terminal here to type the key in. Pipe it in, with --stdin.")
    key = sys.stdin.read(store.MAX_KEY_LENGTH + 1000) if from_stdin else ask_for_key(variable)
    place = store.store(variable, store.check_key(key))
    click.echo(f"{variable} is stored in {place}. Restart a server that is running, and it uses it.")
    if os.environ.get(variable):
        click.echo(f"The environment sets {variable}, too, and wins.", err=True)


def ask_for_key(variable: str) -> str:
    key = str(click.prompt(variable, hide_input=True, err=True))
    learn_secrets([key.strip()])
    return key


@keys.command("list")
def list_keys() -> None:
    """Show which keys are stored, and where. The keys themselves are not shown.

    Example: counterpoint keys list
    """
    stored_keys = store.read_stored()
    places = dict.fromkeys(stored_keys.in_file, f"the file {store.default_path()}")
    places |= dict.fromkeys(stored_keys.in_keyring, "the keyring")
    for variable in sorted(places):
        wins = ", but the environment sets it and wins" if os.environ.get(variable) else ""
        click.echo(f"{variable}  in {places[variable]}{wins}")
    if not places:
        click.echo("No key is stored. Store one: counterpoint keys set openai", err=True)


@keys.command("remove")
@name_argument
def remove_key(name: str) -> None:
    """Forget the stored key of NAME.

    Example: counterpoint keys remove openai
    """
    variable = store.parse_variable(name, KEY_VARIABLES)
    if not store.remove(variable):
        raise click.ClickException(f"{variable} is not stored. `counterpoint keys list` shows what is.")
    click.echo(f"{variable} is no longer stored.")
