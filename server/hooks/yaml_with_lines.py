"""YAML as plain data, with the line of everything in it. What could be misread is refused."""

from dataclasses import dataclass, field
from typing import Any

import yaml

KeyPath = tuple[str | int, ...]
"""Keys of mappings and places in lists, from the outermost in."""

TAG_PREFIX = "tag:yaml.org,2002:"

MAX_DEPTH = 20
"""Levels of nesting; a hook has seven."""

LITERALS: dict[str, Any] = {"true": True, "false": False, "null": None, "~": None, "": None}
"""YAML reads `on`, `yes` and `no` as truth values too; a hook's key is called `on`, and Norway is `NO`."""


@dataclass(frozen=True, slots=True)
class Problem:
    line: int  # from 1; 0 where no line is to blame
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


@dataclass(slots=True)
class YamlDocument:
    data: Any = None
    lines: dict[KeyPath, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def find_line(self, path: KeyPath) -> int:
        """The line of what is at a path, or of the nearest thing around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 0)


def parse_yaml(text: str) -> YamlDocument:
    """A YAML document; what is wrong with it is among its faults, and not in its data."""
    found = YamlDocument()
    try:
        found.problems += find_expansion_problems(text)
        if not found.problems:
            node = yaml.compose(text, yaml.SafeLoader)
            found.data = None if node is None else convert_node(node, (), found)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        found.problems.append(Problem(mark.line + 1 if mark else 0, f"it is no YAML: {error.problem}"))
    except yaml.YAMLError as error:
        found.problems.append(Problem(0, f"it is no YAML: {str(error).splitlines()[0]}"))
    return found


def find_expansion_problems(text: str) -> list[Problem]:
    """What makes a short file long work: aliases, and nesting. Told before anything is put together."""
    faults: list[Problem] = []
    depth = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            faults.append(Problem(line, "aliases (*name) are not allowed: write it out"))
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            return [*faults, Problem(line, "it is nested too deeply")]
    return faults


def convert_node(node: yaml.Node, path: KeyPath, document: YamlDocument) -> Any:
    document.lines.setdefault(path, node.start_mark.line + 1)
    match node:
        case yaml.MappingNode(tag="tag:yaml.org,2002:map"):
            return convert_mapping(node, path, document)
        case yaml.SequenceNode(tag="tag:yaml.org,2002:seq"):
            return [convert_node(one, (*path, number), document) for number, one in enumerate(node.value)]
        case yaml.ScalarNode():
            return convert_scalar(node, document)
    document.problems.append(Problem(node.start_mark.line + 1, f"the tag {node.tag[:60]!r} is not allowed"))
    return None


def convert_mapping(node: yaml.MappingNode, path: KeyPath, document: YamlDocument) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, inner in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            document.problems.append(Problem(line, "a key has to be a word"))
        elif key.value in made:
            document.problems.append(Problem(line, f"{key.value[:60]!r} is there twice"))
        else:
            document.lines[*path, key.value] = line
            made[key.value] = convert_node(inner, (*path, key.value), document)
    return made


def convert_scalar(node: yaml.ScalarNode, document: YamlDocument) -> Any:
    text: str = node.value
    if node.style is not None:  # quoted, or a block of text
        return text
    kind = node.tag.removeprefix(TAG_PREFIX)
    if text in LITERALS:
        return LITERALS[text]
    if kind in ("int", "float"):
        try:
            return int(text) if kind == "int" else float(text)
        except ValueError:  # 0x1F, 1:30, 1_000: to us they are words
            return text
    if kind in ("str", "bool", "null", "timestamp"):
        return text
    document.problems.append(
        Problem(node.start_mark.line + 1, f"{text[:60] or node.tag!r} is not allowed here")
    )
    return None
