"""Writes what comes from the code, parts of the documentation and the list of tools: `python -m docs.generate`.

A part stands between `<!-- name -->` and `<!-- /name -->`. `tests/test_docs.py` fails when one is out of
date.
"""

import ast
import inspect
import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from urllib.parse import quote

import click
from mcp.types import ListToolsResult

from docs.costs import render_costs
from docs.error_texts import render_error_texts
from docs.screenshots import terminal
from server.cli.main import counterpoint
from server.client_configs.clients import CLIENTS
from server.client_configs.launch import SERVER_NAME, SHARED_COMMAND
from server.debate.commands.setup.formats import FORMATS, Format
from server.debate.facts.setup.phases import Phase
from server.debate.facts.text import format_count
from server.debate.machine.kinds import KINDS
from server.hooks import matching
from server.hooks.config import AllowedHosts, Hook, HooksConfig, InterventionAction, Webhook
from server.mcp.prompts import PROMPTS
from server.mcp.resources import TEMPLATES
from server.settings import PREFIX, ResearchServer, Settings
from server.tools.arguments.schemas import build_schema
from server.tools.debates import TOOLS
from server.tools.listing import LISTED_FILE
from server.tools.schemas import build_listed_tools, build_result_schema

DOCS = Path(__file__).parent
ROOT = DOCS.parent


def render_package_layout() -> str:
    """The packages with the first sentence of each docstring, and the modules in each."""
    lines = [line for top in ("counterpoint", "server", "storage") for line in layout_lines(ROOT / top)]
    return "\n".join(["```", *lines, "```"])


def layout_lines(folder: Path, depth: int = 0) -> Iterator[str]:
    indent = "  " * depth
    yield (f"{indent}{folder.name}/".ljust(20) + first_sentence(folder / "__init__.py")).rstrip()
    modules = [path.stem for path in sorted(folder.glob("*.py")) if path.stem != "__init__"]
    yield from ([f"{indent}  {'  '.join(modules)}"] if modules else [])
    for package in sorted(path.parent for path in folder.glob("*/__init__.py")):
        yield from layout_lines(package, depth + 1)


def first_sentence(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n\n")[0].replace("\n", " ")


def render_states() -> str:
    """A state diagram of the phases, made from the table of formats."""
    formats_by_edge: dict[tuple[str, str], list[str]] = {}
    for row in FORMATS.values():
        states = ["[*]", *(phase.name for phase in row.phases), "[*]"]
        loops = [(phase.name, phase.name) for phase in row.phases if phase.repeats]
        for edge in (*pairwise(states), *loops):
            formats_by_edge.setdefault(edge, []).append(row.name)
    edges = [f"    {a} --> {b}: {', '.join(names)}" for (a, b), names in formats_by_edge.items()]
    return "\n".join(["```mermaid", "stateDiagram-v2", *edges, "```"])


def render_event_catalogue() -> str:
    """Every kind of event: its meaning, and its fields with their types."""
    parts = []
    for event in KINDS.values():
        fields = [
            f"`{name}: {format_annotation(field.annotation)}`"
            for name, field in event.model_fields.items()
            if name != "kind"
        ]
        meaning = " ".join((event.__doc__ or "").split())
        parts.append(
            f"- **`{event.model_fields['kind'].default}`** {meaning}".rstrip() + f"\n  {', '.join(fields)}"
        )
    return "\n".join(parts)


def format_annotation(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return format_annotation(arguments[0])
    if origin is Literal:
        return " | ".join(map(json.dumps, arguments))
    if origin in (Union, UnionType):
        return " | ".join(map(format_annotation, arguments))
    if origin is tuple:
        inner = ", ".join(format_annotation(argument) for argument in arguments if argument is not Ellipsis)
        return f"[{inner}, …]" if Ellipsis in arguments else f"[{inner}]"
    return "null" if annotation is NoneType else str(annotation.__name__)


def render_formats() -> str:
    parts = []
    for row in FORMATS.values():
        phases = render_phase_diagram(row).replace(" -> ", "\n  -> ")
        facts = f"{format_count(row.default_rounds, 'round')} by default, at most {row.max_allowed_rounds}"
        if any(phase.is_judgment for phase in row.phases):
            facts += "; one judge reads it twice, several once each and again where in doubt"
        parts.append(f"**`{row.name}`** {row.summary} {facts}.\n\n```\n{phases}\n```")
    return "\n\n".join(parts)


def render_phase_diagram(row: Format) -> str:
    """The phases of a format as one line of text."""
    return " -> ".join(f"{phase.name} ({describe_phase(phase, row)})" for phase in row.phases)


def describe_phase(phase: Phase, row: Format) -> str:
    """Who takes part in a phase, doing what, in what order."""
    if phase.participants != "debaters":
        return phase.participants if phase.wants != "ballot" else "audience, each voter alone"
    tasks = {"message": "each asks one and is answered", "ballot": "each votes alone"}
    task = "each chooses the next" if phase.order == "handoff" else phase.order
    each_round = ", each further round" if phase.repeats else ""
    closing = "; the moderator closes and may settle it" if row.has_closing_moderator else ""
    return f"debaters, {tasks.get(phase.wants, task)}{each_round}{closing}"


def render_tools() -> str:
    parts = []
    for name, tool in TOOLS.items():
        lines = [
            f"### `{name}`",
            "",
            " ".join((tool.arguments.__doc__ or "").split()),
            "",
            "| argument | type | meaning |",
            "| --- | --- | --- |",
        ]
        lines += build_argument_rows(build_schema(tool.arguments))
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def render_results() -> str:
    """The fields of every result: type, meaning, and the tools that return it."""
    rows: dict[str, tuple[str, str]] = {}
    tools: dict[str, list[str]] = {}
    for tool_name, tool in TOOLS.items():
        for name, part in build_result_schema(tool.result)["properties"].items():
            rows.setdefault(name, (format_type(part), part.get("description", "")))
            tools.setdefault(name, []).append(tool_name)
    lines = ["| field | type | meaning | in the results of |", "| --- | --- | --- | --- |"]
    for name, (kind, meaning) in rows.items():
        where = "all" if len(tools[name]) >= len(TOOLS) - 1 else ", ".join(tools[name])
        lines.append(f"| `{name}` | {kind} | {meaning} | {where} |")
    return "\n".join(lines)


def build_argument_rows(schema: dict[str, Any]) -> Iterable[str]:
    """One row for each argument, those of nested objects below their own."""
    required = schema.get("required", [])
    for name, part in schema["properties"].items():
        yield from build_property_rows(name, part, required=name in required)


def build_property_rows(
    name: str, property_schema: dict[str, Any], *, required: bool = False
) -> Iterable[str]:
    nested = find_nested_object(property_schema)
    meaning = ["; ".join(property_schema.get("description", "").splitlines()).replace(":;", ":")]
    if "enum" in property_schema and "\n" not in property_schema.get("description", ""):
        meaning.append("one of " + ", ".join(f"`{value}`" for value in property_schema["enum"]))
    kind = (
        "list of objects"
        if nested and property_schema.get("type") == "array"
        else "object"
        if nested
        else format_type(property_schema)
    )
    description = "; ".join(text for text in meaning if text)
    yield f"| `{name}`{' (required)' if required else ''} | {kind} | {description} |"
    for key, inner in (nested or {}).get("properties", {}).items():
        below = f"{name}[].{key}" if property_schema.get("type") == "array" else f"{name}.{key}"
        yield from build_property_rows(below, inner, required=key in (nested or {}).get("required", []))


def find_nested_object(property_schema: dict[str, Any]) -> dict[str, Any] | None:
    part = property_schema.get("items", property_schema)
    objects = [one for one in (part, *part.get("anyOf", ())) if "properties" in one]
    return objects[0] if objects else None


def format_type(property_schema: dict[str, Any]) -> str:
    if either := property_schema.get("anyOf"):
        return " or ".join(map(format_type, either))
    if property_schema["type"] == "array":
        return f"list of {property_schema['items'].get('type', 'objects')}s"
    return str(property_schema["type"])


def render_resources() -> str:
    lines = ["| view | resource | content | type |", "| --- | --- | --- | --- |"]
    lines += [
        f"| `{one.name}` | `{one.uri_template}` | {one.description} | `{one.mime_type}` |"
        for one in TEMPLATES
    ]
    return "\n".join(lines)


def render_clients() -> str:
    lines = ["| `CLIENT` | | with `--project` | variables |", "| --- | --- | --- | --- |"]
    for name, client in CLIENTS.items():
        file, reference = client.project_file and f"`{client.project_file}`", client.reference
        how = "by name" if reference == "" else reference and f"`{reference.format(name='NAME')}`"
        lines.append(f"| `{name}` | {client.title} | {file} | {how or ''} |")
    return "\n".join(lines)


def render_links() -> str:
    """Addresses that open a client and have it add the server."""
    entry = {"command": SHARED_COMMAND.command, "args": [*SHARED_COMMAND.args]}
    encoded = quote(b64encode(json.dumps(entry).encode()).decode(), safe="")
    named = quote(json.dumps({"name": SERVER_NAME, **entry}), safe="")
    arguments = "&".join(f"arg={quote(argument)}" for argument in entry["args"])
    links = {
        "Cursor": f"https://cursor.com/en/install-mcp?name={SERVER_NAME}&config={encoded}",
        "VS Code": f"https://vscode.dev/redirect?url={quote('vscode:mcp/install?', safe='')}{quote(named, safe='')}",
        "VS Code Insiders": (
            "https://insiders.vscode.dev/redirect?url="
            f"{quote('vscode-insiders:mcp/install?', safe='')}{quote(named, safe='')}"
        ),
        "LM Studio": f"https://lmstudio.ai/install-mcp?name={SERVER_NAME}&config={encoded}",
        "Goose": f"https://block.github.io/goose/extension?cmd=uvx&{arguments}&id={SERVER_NAME}&name=Counterpoint",
    }
    return " ·\n".join(f"[{title}]({link})" for title, link in links.items())


def render_start() -> str:
    """How each client is set up."""
    lines = ["| client | command | file |", "| --- | --- | --- |"]
    for name, client in CLIENTS.items():
        project = f"`{client.project_file}` with `--project`" if client.project_file else ""
        lines.append(f"| {client.title} | `counterpoint install {name}` | {project} |")
    return "\n".join(lines)


def render_prompts() -> str:
    lines = ["| prompt | argument | what it does |", "| --- | --- | --- |"]
    for prompt in PROMPTS:
        arguments = "; ".join(f"`{one.name}`: {one.description}" for one in prompt.arguments or [])
        lines.append(f"| `{prompt.name}` | {arguments} | {prompt.description} |")
    return "\n".join(lines)


def render_settings() -> str:
    lines = ["| variable | key in the file | meaning |", "| --- | --- | --- |"]
    lines += [
        f"| `{PREFIX}{name.upper()}` | `{Settings.file_key(name)}` | {meaning} |"
        for name, meaning in read_field_docstrings(Settings).items()
    ]
    return "\n".join(lines)


def read_field_docstrings(model: type) -> dict[str, str]:
    """The docstring below each field of a class. Pydantic can read them, too, but does so at every start."""
    found = ast.parse(inspect.getsource(model)).body[0]
    assert isinstance(found, ast.ClassDef)
    return {
        field.target.id: " ".join(text.value.value.split())
        for field, text in pairwise(found.body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
        if isinstance(text.value.value, str)
    }


def render_research() -> str:
    lines = ["| key | meaning |", "| --- | --- |"]
    for name, meaning in read_field_docstrings(ResearchServer).items():
        value = ResearchServer.model_fields[name].default
        default = f" Default: `{str(value).lower()}`." if isinstance(value, int | float) else ""
        lines.append(f"| `{name}` | {meaning}{default} |")
    return "\n".join(lines)


def render_events() -> str:
    """The names of events, with the fields that conditions and placeholders of hooks may use."""
    lines = ["| event | kinds | fields of its own |", "| --- | --- | --- |"]
    for name in matching.NAMED_EVENTS:
        kinds = matching.find_event_kinds(name)
        fields = sorted(matching.event_fields(name))
        lines.append(f"| `{name}` | {quote_words(kinds)} | {quote_words(fields)} |")
    every = quote_words(matching.COMMON_FIELDS)
    return "\n".join([*lines, f"| `{matching.ANY_EVENT}` | all of them | every event has {every} |"])


def quote_words(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def render_hook_keys() -> str:
    lines = ["| key | meaning |", "| --- | --- |"]
    for where, model in (
        ("", HooksConfig),
        ("hooks[].", Hook),
        ("webhook.", Webhook),
        ("intervene.", InterventionAction),
        ("allow.", AllowedHosts),
    ):
        lines += [
            f"| `{where}{name}` | {meaning}{format_default(model.model_fields[name].default)} |"
            for name, meaning in read_field_docstrings(model).items()
        ]
    return "\n".join(lines)


def format_default(value: Any) -> str:
    return f" Default: `{value}`." if isinstance(value, int | float) else ""


def render_commands() -> str:
    parts = []
    for path, command in walk_commands(counterpoint, ("counterpoint",)):
        context = click.Context(
            command,
            info_name=" ".join(path),
            terminal_width=90,
            max_content_width=90,
            **counterpoint.context_settings,
        )
        parts.append(f"## `{' '.join(path)}`\n\n```\n{command.get_help(context)}\n```")
    return "\n\n".join(parts)


def walk_commands(
    command: click.Command, path: tuple[str, ...]
) -> Iterable[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name in sorted(command.commands):
            yield from walk_commands(command.commands[name], (*path, name))


BLOCKS: dict[str, tuple[str, Callable[[], str]]] = {
    "layout": ("code.md", render_package_layout),
    "states": ("code.md", render_states),
    "event-catalogue": ("code.md", render_event_catalogue),
    "formats": ("debates.md", render_formats),
    "tools": ("tools.md", render_tools),
    "results": ("tools.md", render_results),
    "resources": ("tools.md", render_resources),
    "prompts": ("tools.md", render_prompts),
    "start": ("start.md", render_start),
    "costs": ("costs.md", render_costs),
    "errors": ("errors.md", render_error_texts),
    "clients": ("clients.md", render_clients),
    "links": ("clients.md", render_links),
    "settings": ("settings.md", render_settings),
    "research": ("settings.md", render_research),
    "events": ("hooks.md", render_events),
    "hook-keys": ("hooks.md", render_hook_keys),
    "commands": ("command-line.md", render_commands),
}


def replace_block(text: str, name: str, block: str) -> str:
    """The text with the block between its markers replaced."""
    marked = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    if not marked.search(text):
        raise ValueError(f"there are no markers for {name}")
    return marked.sub(lambda found: f"{found[1]}{block}\n{found[2]}", text)


def render_listed_tools() -> str:
    """The file from which a server lists its tools."""
    listed = ListToolsResult(tools=build_listed_tools(TOOLS))
    return listed.model_dump_json(by_alias=True, include={"tools"}, exclude_none=True, indent=1) + "\n"


def main() -> None:
    terminal.IMAGE.write_text(terminal.draw(), encoding="utf-8")
    LISTED_FILE.write_text(render_listed_tools(), encoding="utf-8")
    for name, (page, make) in BLOCKS.items():
        path = DOCS / page
        path.write_text(replace_block(path.read_text(encoding="utf-8"), name, make()), encoding="utf-8")


if __name__ == "__main__":
    main()
