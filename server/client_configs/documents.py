"""Texts of configurations, in the syntaxes that clients use, with one entry set or removed.

Everything else stays, comments included: JSON and JSON with comments, TOML, YAML.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from typing import Any, Literal

from server.client_configs import jsonc

Syntax = Literal["json", "toml", "yaml"]
Entry = Mapping[str, Any]
Edit = Callable[[Any], None]


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
            at = {str(one.get("name")): one for one in at if isinstance(one, dict)}
        if not isinstance(at, dict):
            raise ValueError(f'it has no object under "{".".join(path[:depth])}"')  # noqa: TRY004
        if key not in at:
            return None
        at = at[key]
    if not isinstance(at, dict):
        raise ValueError(f'it has no object under "{".".join(path)}"')  # noqa: TRY004  (of the text)
    return at


def parse(text: str, syntax: Syntax) -> Any:
    """Plain data. Raises ValueError with the place of what cannot be read."""
    if not text.strip():
        return {}
    try:
        if syntax == "json":
            return jsonc.parse(text)
        if syntax == "toml":
            import tomllib  # noqa: PLC0415

            return tomllib.loads(text)
        import yaml  # noqa: PLC0415

        return yaml.safe_load(text) or {}
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise ValueError(f"it is not JSON ({place})") from None
    except ValueError as error:
        raise ValueError(f"it is not {syntax.upper()} ({error})") from None
    except Exception as error:
        if type(error).__module__.startswith("yaml"):
            raise ValueError(f"it is not YAML ({' '.join(str(error).split())})") from None
        raise


def set_entry(
    text: str, syntax: Syntax, path: Sequence[str], entry: Entry, *, is_listed: bool = False
) -> str:
    """The text with this entry. `is_listed`: in a list of servers with names. Raises as `read_entry`."""
    read_entry(text, syntax, path)
    if syntax == "json":
        return jsonc.set_member(text if text.strip() else "{}\n", path, entry)

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

    return edit(text, syntax, put)


def remove_entry(text: str, syntax: Syntax, path: Sequence[str]) -> str:
    """The text without the entry; as it is where there is none. Raises as `read_entry`."""
    if read_entry(text, syntax, path) is None:
        return text
    if syntax == "json":
        return jsonc.remove_member(text, path)

    def drop(document: Any) -> None:
        at = document
        for key in path[:-1]:
            at = at[key]
        if isinstance(at, list):
            drop_named(at, path[-1])
        else:
            del at[path[-1]]

    return edit(text, syntax, drop)


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
