"""Writes the parts of the documentation that are made from the code: `python -m docs.generate`.

They stand between `<!-- name -->` and `<!-- /name -->`. `tests/test_docs.py` fails when one is out of date.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from server.cli.main import counterpoint
from server.debate.commands.formats import FORMATS, diagram
from server.hooks import matching
from server.hooks.config import Allow, Hook, Intervene, Rules, Webhook
from server.mcp.resources import TEMPLATES
from server.settings import PREFIX, ResearchServer, Settings
from server.tools import all_tools

DOCS = Path(__file__).parent


def formats() -> str:
    parts = []
    for row in FORMATS.values():
        phases = diagram(row).replace(" -> ", "\n  -> ")
        many = f"{row.rounds} rounds unless asked for otherwise, at most {row.most_rounds}"
        if any(phase.asks == "judges" for phase in row.phases):
            many += f"; judges read it in {'both orders' if row.both_orders else 'one order'}"
        parts.append(f"**`{row.name}`** {row.summary} {many}.\n\n```\n{phases}\n```")
    return "\n\n".join(parts)


def tools() -> str:
    parts = []
    for tool in all_tools():
        lines = [
            f"## `{tool.name}`",
            "",
            tool.description,
            "",
            "| argument | type | meaning |",
            "| --- | --- | --- |",
        ]
        lines += arguments(tool.whole)
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def arguments(schema: dict[str, Any]) -> Iterable[str]:
    """Rows of a table, those of nested objects below their own."""
    required = schema.get("required", [])
    for name, part in schema["properties"].items():
        yield from rows(name, part, schema.get("$defs", {}), required=name in required)


def rows(name: str, part: dict[str, Any], defs: dict[str, Any], *, required: bool = False) -> Iterable[str]:
    nested = nested_object(part, defs)
    meaning = [part.get("description", "")]
    if "enum" in part:
        meaning.append("one of " + ", ".join(f"`{value or '(any)'}`" for value in part["enum"]))
    if default := part.get("default"):
        meaning.append(f"default `{str(default).lower() if default is True else default}`")
    kind = (
        "list of objects" if nested and part.get("type") == "array" else "object" if nested else kind_of(part)
    )
    told = "; ".join(text for text in meaning if text)
    yield f"| `{name}`{' (required)' if required else ''} | {kind} | {told} |"
    for key, inner in (nested or {}).get("properties", {}).items():
        below = f"{name}[].{key}" if part.get("type") == "array" else f"{name}.{key}"
        yield from rows(below, inner, defs, required=key in (nested or {}).get("required", []))


def nested_object(part: dict[str, Any], defs: dict[str, Any]) -> dict[str, Any] | None:
    reference = part.get("$ref") or part.get("items", {}).get("$ref")
    return defs[reference.rsplit("/", 1)[-1]] if reference else None


def kind_of(part: dict[str, Any]) -> str:
    if part["type"] == "array":
        return f"list of {part['items'].get('type', 'objects')}s"
    return str(part["type"])


def resources() -> str:
    lines = ["| resource | what | type |", "| --- | --- | --- |"]
    for path, _title, mime_type, reader in TEMPLATES:
        told = " ".join((reader.__doc__ or "").split())
        lines.append(f"| `debate://{{debate_id}}{path}` | {told} | `{mime_type}` |")
    return "\n".join(lines)


def settings() -> str:
    lines = ["| variable | key in the file | meaning |", "| --- | --- | --- |"]
    lines += [
        f"| `{PREFIX}{name.upper()}` | `{Settings.key_of(name)}` | {field.description} |"
        for name, field in Settings.model_fields.items()
    ]
    return "\n".join(lines)


def research() -> str:
    lines = ["| key | meaning |", "| --- | --- |"]
    for name, field in ResearchServer.model_fields.items():
        default = str(field.default).lower() if isinstance(field.default, int | float) else ""
        lines.append(f"| `{name}` | {field.description}{f' Default: `{default}`.' if default else ''} |")
    return "\n".join(lines)


def events() -> str:
    """The names of events, and what can be asked and said of each beside what every event has."""
    lines = ["| event | kinds | fields of its own |", "| --- | --- | --- |"]
    for name in matching.names():
        kinds = matching.kinds_of(name)
        fields = sorted({field for kind in kinds for field in matching.own_fields(kind)})
        lines.append(f"| `{name}` | {quoted(kinds)} | {quoted(fields)} |")
    every = quoted((*matching.DEBATE_FIELDS, *matching.ENTRY_FIELDS))
    return "\n".join([*lines, f"| `{matching.EVERY}` | all of them | every event has {every} |"])


def quoted(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def hook_keys() -> str:
    lines = ["| key | meaning |", "| --- | --- |"]
    for where, model in (
        ("", Rules),
        ("hooks[].", Hook),
        ("webhook.", Webhook),
        ("intervene.", Intervene),
        ("allow.", Allow),
    ):
        lines += [
            f"| `{where}{name}` | {field.description}{default_of(field.default)} |"
            for name, field in model.model_fields.items()
        ]
    return "\n".join(lines)


def default_of(value: Any) -> str:
    return f" Default: `{value}`." if isinstance(value, int | float) else ""


def commands() -> str:
    parts = []
    for path, command in walk(counterpoint, ("counterpoint",)):
        context = click.Context(command, info_name=" ".join(path), terminal_width=90, max_content_width=90)
        parts.append(f"## `{' '.join(path)}`\n\n```\n{command.get_help(context)}\n```")
    return "\n\n".join(parts)


def walk(command: click.Command, path: tuple[str, ...]) -> Iterable[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name in sorted(command.commands):
            yield from walk(command.commands[name], (*path, name))


BLOCKS: dict[str, tuple[str, Callable[[], str]]] = {
    "formats": ("debates.md", formats),
    "tools": ("tools.md", tools),
    "resources": ("tools.md", resources),
    "settings": ("settings.md", settings),
    "research": ("settings.md", research),
    "events": ("hooks.md", events),
    "hook-keys": ("hooks.md", hook_keys),
    "commands": ("command-line.md", commands),
}


def with_block(text: str, name: str, block: str) -> str:
    """The text with what stands between the markers of a block replaced."""
    marked = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    if not marked.search(text):
        raise ValueError(f"there are no markers for {name}")
    return marked.sub(lambda found: f"{found[1]}{block}\n{found[2]}", text)


def main() -> None:
    for name, (page, make) in BLOCKS.items():
        path = DOCS / page
        path.write_text(with_block(path.read_text(encoding="utf-8"), name, make()), encoding="utf-8")


if __name__ == "__main__":
    main()
