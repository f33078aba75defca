"""Texts of configurations, in the syntaxes that clients use, with one entry set or removed.

Everything else stays, comments included: JSON and JSON with comments, TOML, YAML. What was changed is read again: where
anything else would come out differently, it is refused. Texts that are nested too deeply raise RecursionError.
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

MOST_BYTES = 32 * 1024 * 1024  # of a file


def read_entry(text: str, syntax: Syntax, path: Sequence[str]) -> dict[str, Any] | None:
    """The entry at this path; None where there is none.

    Raises ValueError, with the reason, for a text that is no configuration of this shape.
    """
    at: Any = parse(text, syntax)
    if not isinstance(at, dict):
        raise ValueError("it is no object")  # noqa: TRY004  (of the text)
    for depth, key in enumerate(path):
        if at is None:  # as in YAML
            return None
        if isinstance(at, list):  # of servers with names
            named = [one for one in at if isinstance(one, dict) and one.get("name") == key]
            if len(named) > 1:
                raise ValueError(f'it has two servers with the name "{key}"')
            if not named:
                return None
            at = {key: named[0]}
        if not isinstance(at, dict):
            raise ValueError(f'it has no object under "{".".join(path[:depth])}"')  # noqa: TRY004
        if key not in at:
            return None
        at = at[key]
    if not isinstance(at, dict):
        raise ValueError(f'it has no object under "{".".join(path)}"')  # noqa: TRY004  (of the text)
    return at


def check_file(path: Path) -> None:
    """Raises ValueError for what is no file of a configuration. A pipe would be read for ever."""
    if not path.is_file():
        raise ValueError("it is a link to nothing" if path.is_symlink() else "it is no file")
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES >> 20} MB")


def parse(text: str, syntax: Syntax) -> Any:
    """Plain data. Raises ValueError with the place of what cannot be read."""
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
    """The text with this entry. `is_listed`: in a list of servers with names. Raises as `read_entry`."""
    read_entry(text, syntax, path)

    def put(document: Any) -> None:
        at = document
        for key in path[:-1]:
            if at.get(key) is None:
                at[key] = [] if is_listed else {}
            at = at[key]
        if isinstance(at, list):
            drop_named(at, path[-1])
            at.append({"name": path[-1], **entry})
        else:
            at[path[-1]] = dict(entry)

    if syntax == "json":
        new = jsonc.set_member(text if text.strip() else "{}\n", path, entry)
    else:
        new = edit(text, syntax, put)
    return confirm(new, text, syntax, path, entry)


def remove_entry(text: str, syntax: Syntax, path: Sequence[str]) -> str:
    """The text without the entry; as it is where there is none. Raises as `read_entry`."""
    if read_entry(text, syntax, path) is None:
        return text

    def drop(document: Any) -> None:
        at = document
        for key in path[:-1]:
            at = at[key]
        if isinstance(at, list):
            drop_named(at, path[-1])
        else:
            del at[path[-1]]

    new = jsonc.remove_member(text, path) if syntax == "json" else edit(text, syntax, drop)
    return confirm(new, text, syntax, path, None)


def confirm(new: str, old: str, syntax: Syntax, path: Sequence[str], entry: Entry | None) -> str:
    """The new text. Raises ValueError where it says anything else than the old one with the entry, or without it."""
    found = read_entry(new, syntax, path)
    is_there = found == entry or (entry is not None and found == {"name": path[-1], **entry})
    if not is_there or leave_out(parse(new, syntax), path) != leave_out(parse(old, syntax), path):
        raise ValueError("it is written in a way in which one entry cannot be changed without others")
    return new


def leave_out(at: Any, path: Sequence[str]) -> Any:
    """Plain data without the entry, and without what only held it; a copy, as aliases of YAML share an object."""
    key, rest = path[0], path[1:]
    if isinstance(at, list):
        return [one for one in at if not (isinstance(one, dict) and one.get("name") == key)]
    left = dict(at or {})
    held = left.pop(key, None)
    inner = leave_out(held, rest) if rest else None
    return left | ({key: inner} if inner else {})


def drop_named(servers: list[Any], name: str) -> None:
    for position in reversed(range(len(servers))):
        if isinstance(servers[position], dict) and servers[position].get("name") == name:
            del servers[position]


def edit(text: str, syntax: Syntax, change: Edit) -> str:
    """The text after a change of its document, by a library that keeps comments and order."""
    if syntax == "toml":
        import tomlkit  # noqa: PLC0415

        document = tomlkit.parse(text)
        change(document)
        return tomlkit.dumps(document)
    from ruamel.yaml import YAML  # noqa: PLC0415

    yaml = YAML()
    yaml.preserve_quotes = True
    loaded = yaml.load(text)
    document_ = {} if loaded is None else loaded
    change(document_)
    out = StringIO()
    yaml.dump(document_, out)
    return out.getvalue()
