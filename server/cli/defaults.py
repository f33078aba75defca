"""Defaults for options of commands, from the settings."""

import os
from collections.abc import Iterator, Mapping
from typing import Any

import click

from server.settings import PREFIX, InvalidSettingsError, Settings, SettingsFile


def build_default_map(
    group: click.Group, ctx: click.Context, settings: Settings
) -> dict[str, dict[str, Any]]:
    """The defaults by command and parameter, as click wants them. What the command line says wins over them.

    Raises:
        InvalidSettingsError: there is no such command or option, or the option cannot have the value. It names the
            variable, or the file and the line.
    """
    defaults: dict[str, dict[str, Any]] = {}
    for name, options in settings.options.items():
        command = group.commands.get(name)
        if command is None or isinstance(command, click.Group):
            raise InvalidSettingsError(
                f"{describe_place(name)}: there is no command {name[:40]!r} with options."
            )
        defaults[name] = dict(find_values(command, name, options, ctx))
    return defaults


def find_values(
    command: click.Command, name: str, options: Mapping[str, Any], ctx: click.Context
) -> Iterator[tuple[str, Any]]:
    known = {
        option.lstrip("-"): parameter
        for parameter in command.params
        for option in parameter.opts
        if option.startswith("--")
    }
    for key, given in options.items():
        parameter = known.get(key.replace("_", "-"))
        if parameter is None or parameter.name is None:
            hint = f"`counterpoint {name} --help` shows its options"
            raise InvalidSettingsError(
                f"{describe_place(name, key)}: `{name}` has no option --{key[:40]}; {hint}."
            )
        value = [given] if parameter.multiple and not isinstance(given, list) else given
        try:
            parameter.type_cast_value(ctx, value)
        except click.BadParameter as error:
            raise InvalidSettingsError(f"{describe_place(name, key)}: {error.message}") from None
        yield parameter.name, value


def describe_place(*keys: str) -> str:
    """Where the defaults, or one of them, were set."""
    if os.environ.get(f"{PREFIX}OPTIONS"):
        return f"{PREFIX}OPTIONS, {'.'.join(keys)}"
    return SettingsFile.find(os.environ).locate("options", *keys) or f"options.{'.'.join(keys)}"
