"""Defaults for options of commands, from the settings."""

import os
from collections.abc import Iterator, Mapping
from typing import Any

import click

from server.settings import PREFIX, InvalidSettingsError, Settings, SettingsFile


def build_default_map(
    group: click.Group, ctx: click.Context, settings: Settings
) -> dict[str, dict[str, Any]]:
    """Build click's `default_map` from the settings: values by command and parameter. The command line overrides it.

    Raises InvalidSettingsError for an unknown command or option and for an invalid value. The text names the
    variable, or the file and the line.
    """
    defaults: dict[str, dict[str, Any]] = {}
    for name, options in settings.options.items():
        command = group.commands.get(name)
        if command is None or isinstance(command, click.Group):
            raise InvalidSettingsError(
                f"{describe_place(name)}: there is no command {name[:40]!r} with options."
            )
        defaults[name] = dict(parse_values(command, name, options, ctx))
    return defaults


def parse_values(
    command: click.Command, name: str, options: Mapping[str, Any], ctx: click.Context
) -> Iterator[tuple[str, Any]]:
    parameters = {
        option.lstrip("-"): parameter
        for parameter in command.params
        for option in parameter.opts
        if option.startswith("--")
    }
    for key, setting in options.items():
        parameter = parameters.get(key.replace("_", "-"))
        if parameter is None or parameter.name is None:
            hint = f"`counterpoint {name} --help` shows its options"
            raise InvalidSettingsError(
                f"{describe_place(name, key)}: `{name}` has no option --{key[:40]}; {hint}."
            )
        value = [setting] if parameter.multiple and not isinstance(setting, list) else setting
        try:
            parameter.type_cast_value(ctx, value)
        except click.BadParameter as error:
            raise InvalidSettingsError(f"{describe_place(name, key)}: {error.message}") from None
        yield parameter.name, value


def describe_place(*keys: str) -> str:
    """The variable, or the file and line, that set the defaults or one of them."""
    if os.environ.get(f"{PREFIX}OPTIONS"):
        return f"{PREFIX}OPTIONS, {'.'.join(keys)}"
    return SettingsFile.find(os.environ).locate("options", *keys) or f"options.{'.'.join(keys)}"
