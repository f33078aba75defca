"""Parses YAML to texts, lists and mappings with line numbers. Rejects aliases, tags and repeated keys.

Numbers, booleans and dates stay texts: pydantic converts them where a field wants them.
"""

from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML, nodes
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent

KeyPath = tuple[str | int, ...]
"""Mapping keys and list indexes, outermost first."""

MAX_DEPTH = 20  # a hook has seven levels

NULLS = ("", "null", "~")

TEXT_TAGS = {
    f"tag:yaml.org,2002:{name}"
    for name in ("str", "int", "float", "bool", "null", "timestamp", "merge", "value")
}
"""What ruamel tags scalars with by their looks."""


@dataclass(slots=True)
class YamlDocument:
    data: Any = field(default_factory=dict)
    lines: dict[KeyPath, int] = field(default_factory=dict)
    problems: list[tuple[int, str]] = field(default_factory=list)
    """(line, message), with line 0 if none applies. The data is complete only without problems."""

    def find_line(self, path: KeyPath) -> int:
        """The line of the value at a path, or of the closest value around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 0)

    def find_expansions(self, text: str) -> None:
        """Report aliases and deep nesting, which make small files expensive. Called before composing."""
        depth = 0
        for event in open_parser().parse(text):
            line = event.start_mark.line + 1
            if isinstance(event, AliasEvent):
                self.problems.append((line, "aliases (*name) are not allowed: repeat the content"))
            depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
            if depth > MAX_DEPTH:
                self.problems.append((line, "it is nested too deeply"))
                return

    def convert(self, node: nodes.Node, path: KeyPath) -> Any:
        line = node.start_mark.line + 1
        self.lines.setdefault(path, line)
        match node:
            case nodes.MappingNode(tag="tag:yaml.org,2002:map"):
                return self.convert_mapping(node, path)
            case nodes.SequenceNode(tag="tag:yaml.org,2002:seq"):
                return [self.convert(child, (*path, number)) for number, child in enumerate(node.value)]
            case nodes.ScalarNode(tag=tag, style=style, value=text) if tag in TEXT_TAGS:
                return None if style is None and text in NULLS else text
        self.problems.append((line, f"the tag {str(node.tag)[:60]!r} is not allowed"))
        return None

    def convert_mapping(self, node: nodes.MappingNode, path: KeyPath) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key, inner in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, nodes.ScalarNode):
                self.problems.append((line, "a key must be a word"))
            elif key.value in mapping:
                self.problems.append((line, f"{key.value[:60]!r} is there twice"))
            else:
                self.lines[*path, key.value] = line
                mapping[key.value] = self.convert(inner, (*path, key.value))
        return mapping


def open_parser() -> YAML:
    return YAML(typ="base", pure=True)


def parse_yaml(text: str) -> YamlDocument:
    """Parse a YAML document; one without content is an empty mapping. Errors are in `problems`."""
    document = YamlDocument()
    try:
        document.find_expansions(text)
        if not document.problems and (node := open_parser().compose(text)):
            document.data = document.convert(node, ())
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        document.problems.append((mark.line + 1 if mark else 0, f"it is not YAML: {error.problem}"))
    except YAMLError as error:
        document.problems.append((0, f"it is not YAML: {str(error).splitlines()[0]}"))
    return document
