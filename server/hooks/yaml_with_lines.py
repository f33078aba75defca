"""YAML as plain data, with the line of everything in it. What could be misread is refused."""

from dataclasses import dataclass, field
from typing import Any

import yaml

Path = tuple[str | int, ...]
"""Keys of mappings and places in lists, from the outermost in."""

PLAIN = "tag:yaml.org,2002:"

DEEPEST = 20
"""Levels of nesting; a hook has seven."""

WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "~": None, "": None}
"""YAML reads `on`, `yes` and `no` as truth values too; a hook's key is called `on`, and Norway is `NO`."""


@dataclass(frozen=True, slots=True)
class Fault:
    line: int  # from 1; 0 where no line is to blame
    what: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}" if self.line else self.what


@dataclass(slots=True)
class Lined:
    data: Any = None
    lines: dict[Path, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def line(self, path: Path) -> int:
        """The line of what is at a path, or of the nearest thing around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 0)


def read(text: str) -> Lined:
    """A YAML document; what is wrong with it is among its faults, and not in its data."""
    found = Lined()
    try:
        found.faults += endless(text)
        if not found.faults:
            node = yaml.compose(text, yaml.SafeLoader)
            found.data = None if node is None else value(node, (), found)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        found.faults.append(Fault(mark.line + 1 if mark else 0, f"it is no YAML: {error.problem}"))
    except yaml.YAMLError as error:
        found.faults.append(Fault(0, f"it is no YAML: {str(error).splitlines()[0]}"))
    return found


def endless(text: str) -> list[Fault]:
    """What makes a short file long work: aliases, and nesting. Told before anything is put together."""
    faults: list[Fault] = []
    depth = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            faults.append(Fault(line, "aliases (*name) are not allowed: write it out"))
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            return [*faults, Fault(line, "it is nested too deeply")]
    return faults


def value(node: yaml.Node, path: Path, found: Lined) -> Any:
    found.lines.setdefault(path, node.start_mark.line + 1)
    match node:
        case yaml.MappingNode(tag="tag:yaml.org,2002:map"):
            return mapping(node, path, found)
        case yaml.SequenceNode(tag="tag:yaml.org,2002:seq"):
            return [value(one, (*path, number), found) for number, one in enumerate(node.value)]
        case yaml.ScalarNode():
            return scalar(node, found)
    found.faults.append(Fault(node.start_mark.line + 1, f"the tag {node.tag[:60]!r} is not allowed"))
    return None


def mapping(node: yaml.MappingNode, path: Path, found: Lined) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, inner in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            found.faults.append(Fault(line, "a key has to be a word"))
        elif key.value in made:
            found.faults.append(Fault(line, f"{key.value[:60]!r} is there twice"))
        else:
            found.lines[*path, key.value] = line
            made[key.value] = value(inner, (*path, key.value), found)
    return made


def scalar(node: yaml.ScalarNode, found: Lined) -> Any:
    text: str = node.value
    if node.style is not None:  # quoted, or a block of text
        return text
    kind = node.tag.removeprefix(PLAIN)
    if text in WORDS:
        return WORDS[text]
    if kind in ("int", "float"):
        try:
            return int(text) if kind == "int" else float(text)
        except ValueError:  # 0x1F, 1:30, 1_000: to us they are words
            return text
    if kind in ("str", "bool", "null", "timestamp"):
        return text
    found.faults.append(Fault(node.start_mark.line + 1, f"{text[:60] or node.tag!r} is not allowed here"))
    return None
