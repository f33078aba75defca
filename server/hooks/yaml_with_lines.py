"""Parses YAML to plain data with line numbers. Rejects aliases, tags and other ambiguous input."""

from dataclasses import dataclass, field
from typing import Any

import yaml

KeyPath = tuple[str | int, ...]
"""Mapping keys and list indexes, outermost first."""

TAG_PREFIX = "tag:yaml.org,2002:"

MAX_DEPTH = 20  # a hook has seven levels

LITERALS: dict[str, Any] = {"true": True, "false": False, "null": None, "~": None, "": None}
"""Unlike in YAML 1.1, `on`, `yes` and `no` are words here: `on` is a key of a hook."""


@dataclass(frozen=True, slots=True)
class Problem:
    line: int  # from 1; 0 if no line applies
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


@dataclass(slots=True)
class YamlDocument:
    data: Any = None
    lines: dict[KeyPath, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def find_line(self, path: KeyPath) -> int:
        """The line of the value at a path, or of the closest value around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 0)


def parse_yaml(text: str) -> YamlDocument:
    """Parse a YAML document. Errors are in `problems`; the data is complete only without any."""
    document = YamlDocument()
    try:
        document.problems += find_expansion_problems(text)
        if not document.problems:
            node = yaml.compose(text, yaml.SafeLoader)
            document.data = None if node is None else convert_node(node, (), document)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        document.problems.append(Problem(mark.line + 1 if mark else 0, f"it is not YAML: {error.problem}"))
    except yaml.YAMLError as error:
        document.problems.append(Problem(0, f"it is not YAML: {str(error).splitlines()[0]}"))
    return document


def find_expansion_problems(text: str) -> list[Problem]:
    """Aliases and deep nesting, which make small files expensive. Checked before composing."""
    problems: list[Problem] = []
    depth = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            problems.append(Problem(line, "aliases (*name) are not allowed: repeat the content"))
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            return [*problems, Problem(line, "it is nested too deeply")]
    return problems


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
    mapping: dict[str, Any] = {}
    for key, inner in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            document.problems.append(Problem(line, "a key must be a word"))
        elif key.value in mapping:
            document.problems.append(Problem(line, f"{key.value[:60]!r} is there twice"))
        else:
            document.lines[*path, key.value] = line
            mapping[key.value] = convert_node(inner, (*path, key.value), document)
    return mapping


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
        except ValueError:  # 0x1F, 1:30, 1_000 are words here
            return text
    if kind in ("str", "bool", "null", "timestamp"):
        return text
    document.problems.append(
        Problem(node.start_mark.line + 1, f"{text[:60] or node.tag!r} is not allowed here")
    )
    return None
