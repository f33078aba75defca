"""Sets or removes one entry in the text of a configuration: JSON with or without comments, TOML or YAML.

Everything else stays, comments included. The changed text is read again, and refused if anything else differs. A text
that is nested too deeply raises RecursionError.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, Literal

from server.client_configs import jsonc

Syntax = Literal["json", "toml", "yaml"]
Entry = Mapping[str, Any]
Edit = Callable[[Any], None]

MAX_BYTES = 32 * 1024 * 1024  # of a file


def read_entry(text: str, syntax: Syntax, path: Sequence[str]) -> dict[str, Any] | None:
    """The entry at this path; None if there is none.

    Raises ValueError, with the reason, if the text is not a configuration of this shape.
    """
    at: Any = parse(text, syntax)
    if not isinstance(at, dict):
        raise ValueError("it is not an object")  # noqa: TRY004  (of the text)
    for depth, key in enumerate(path):
        if at is None:  # an empty key in YAML
            return None
        if isinstance(at, list):
            if syntax == "toml":  # no client reads a list there
                parent = ".".join(path[:depth])
                raise ValueError(f"it has [[{parent}]], a list, where a table [{parent}.{key}] belongs")
            at = find_server(at, key)
        if not isinstance(at, dict):
            raise ValueError(f'it has no object under "{".".join(path[:depth])}"')  # noqa: TRY004
        if key not in at:
            return None
        at = at[key]
    if not isinstance(at, dict):
        raise ValueError(f'it has no object under "{".".join(path)}"')  # noqa: TRY004  (of the text)
    return at


def find_server(servers: Sequence[Any], name: str) -> dict[str, Any]:
    """{name: server} for the server of this name in a list; {} if there is none. Raises ValueError if there are two."""
    matches = [server for server in servers if isinstance(server, dict) and server.get("name") == name]
    if len(matches) > 1:
        raise ValueError(f'it has two servers with the name "{name}"')
    return dict.fromkeys([name], matches[0]) if matches else {}


def check_file(path: Path) -> None:
    """Raises ValueError for anything but a file of normal size. A pipe, for example, would be read for ever."""
    if not path.is_file():
        raise ValueError("it is a link to nothing" if path.is_symlink() else "it is not a file")
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES >> 20} MB")


def parse(text: str, syntax: Syntax) -> Any:
    """Parse a text into plain data. Raises ValueError with the place of an error."""
    if not text.strip():
        return {}
    if syntax == "json":
        try:
            return jsonc.parse(text)
        except json.JSONDecodeError as error:
            place = f"line {error.lineno}, column {error.colno}: {error.msg}"
            raise ValueError(f"it is not JSON ({place})") from None
    if syntax == "toml":
        import tomllib  # noqa: PLC0415

        try:
            return tomllib.loads(text)
        except ValueError as error:
            raise ValueError(f"it is not TOML ({error})") from None
    from ruamel.yaml import YAML  # noqa: PLC0415
    from ruamel.yaml.error import MarkedYAMLError, YAMLError  # noqa: PLC0415

    try:
        return YAML(typ="safe", pure=True).load(text) or {}
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        problem = str(error.problem).partition(" with value")[0]  # which may be a secret
        raise ValueError(f"it is not YAML (line {line}: {problem})") from None
    except (YAMLError, ValueError) as error:
        raise ValueError(f"it is not YAML ({' '.join(str(error).split())[:200]})") from None


def set_entry(
    text: str, syntax: Syntax, path: Sequence[str], entry: Entry, *, is_listed: bool = False
) -> str:
    """The text with this entry. `is_listed`: servers are a list of objects with names. Raises as `read_entry`."""
    read_entry(text, syntax, path)

    def write_entry(document: Any) -> None:
        at = document
        for key in path[:-1]:
            if at.get(key) is None:
                at[key] = [] if is_listed else {}
            at = at[key]
        if isinstance(at, list):
            remove_server(at, path[-1])
            at.append({"name": path[-1], **entry})
        else:
            at[path[-1]] = dict(entry)

    if syntax == "json":
        new_text = jsonc.set_member(text if text.strip() else "{}\n", path, entry)
    else:
        new_text = edit(text, syntax, write_entry)
    return confirm(new_text, text, syntax, path, entry)


def remove_entry(text: str, syntax: Syntax, path: Sequence[str]) -> str:
    """The text without the entry; unchanged if there is none. Raises as `read_entry`."""
    if read_entry(text, syntax, path) is None:
        return text

    def drop(document: Any) -> None:
        at = document
        for key in path[:-1]:
            at = at[key]
        if isinstance(at, list):
            remove_server(at, path[-1])
        else:
            del at[path[-1]]

    new_text = jsonc.remove_member(text, path) if syntax == "json" else edit(text, syntax, drop)
    return confirm(new_text, text, syntax, path, None)


def confirm(new_text: str, old_text: str, syntax: Syntax, path: Sequence[str], entry: Entry | None) -> str:
    """The new text. Raises ValueError unless it differs from the old one by exactly the entry."""
    entry_found = read_entry(new_text, syntax, path)
    is_there = entry_found == entry or (entry is not None and entry_found == {"name": path[-1], **entry})
    if not is_there or leave_out(parse(new_text, syntax), path) != leave_out(parse(old_text, syntax), path):
        raise ValueError("it is written in a way in which one entry cannot be changed without others")
    return new_text


def leave_out(at: Any, path: Sequence[str]) -> Any:
    """Plain data without the entry and without empty parents. It is a copy, because YAML aliases share an object."""
    key, inner_path = path[0], path[1:]
    if isinstance(at, list):
        return [server for server in at if not (isinstance(server, dict) and server.get("name") == key)]
    remaining = dict(at or {})
    value = remaining.pop(key, None)
    inner = leave_out(value, inner_path) if inner_path else None
    return remaining | ({key: inner} if inner else {})


def remove_server(servers: list[Any], name: str) -> None:
    for position in reversed(range(len(servers))):
        if isinstance(servers[position], dict) and servers[position].get("name") == name:
            del servers[position]


def edit(text: str, syntax: Syntax, change: Edit) -> str:
    """Change the document of a text with a library that keeps comments and order."""
    if syntax == "toml":
        import tomlkit  # noqa: PLC0415

        document = tomlkit.parse(text)
        change(document)
        return tomlkit.dumps(document)
    from ruamel.yaml import YAML  # noqa: PLC0415

    yaml = YAML()
    yaml.preserve_quotes = True
    content = yaml.load(text)
    document_ = {} if content is None else content
    change(document_)
    out = StringIO()
    yaml.dump(document_, out)
    return out.getvalue()
