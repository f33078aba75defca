"""An upper bound of the work that validating a value takes, computed before it is validated.

The validator cannot be interrupted, and some schemas multiply: a recursive `oneOf` doubles the work with
each level of the value. So the value is walked once with the number of times that each subschema applies to
each part of it.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from server.debate.facts.errors import InvalidRequestError, require
from server.debate.facts.text import shorten_to_bytes

Schema = dict[str, Any] | bool

MAX_STEPS = 100_000  # of one validation; a step takes about a microsecond
MAX_SCHEMAS_PER_VALUE = 1_000
MAX_CHAIN_LENGTH = 50

REFERENCE_KEYWORDS = ("$ref", "$dynamicRef", "$recursiveRef")
ANCHOR_KEYWORDS = ("$anchor", "$dynamicAnchor")
ITEM_KEYWORDS = ("items", "prefixItems", "additionalItems", "contains", "unevaluatedItems")
FIELD_KEYWORDS = ("patternProperties", "additionalProperties", "propertyNames", "unevaluatedProperties")
DEPENDENT_KEYWORDS = ("dependencies", "dependentSchemas")
SAME_VALUE_KEYWORDS = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", *DEPENDENT_KEYWORDS)
NAMED_KEYWORDS = ("$defs", "definitions", "properties", "patternProperties", *DEPENDENT_KEYWORDS)
KEYWORD_PARTS: dict[str, type | None] = {
    **dict.fromkeys(ITEM_KEYWORDS, list),
    **dict.fromkeys(FIELD_KEYWORDS, dict),
    **dict.fromkeys(SAME_VALUE_KEYWORDS, None),
}
"""The parts of a value that subschemas apply to: any item, any field, or the value itself."""


def build_schema_error(pointer: str, problem: str) -> InvalidRequestError:
    return InvalidRequestError(f"`output_schema` at {shorten_to_bytes(pointer, 200)}: {problem}")


def require_at(pointer: str, condition: object, otherwise: str) -> None:
    if not condition:
        raise build_schema_error(pointer, otherwise)


def build_pointer(*steps: str | int) -> str:
    """The steps as the end of a JSON pointer."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def iterate_children(schema: Schema) -> Iterator[tuple[str, str | int, str, Schema]]:
    """(keyword, name or index, relative pointer, subschema) of the direct subschemas, in any draft."""
    for keyword, value in schema.items() if isinstance(schema, dict) else ():
        if keyword in NAMED_KEYWORDS or (keyword in KEYWORD_PARTS and isinstance(value, list)):
            for key, child in value.items() if isinstance(value, dict) else enumerate(value):
                if isinstance(child, dict | bool):  # `dependencies` may hold lists of names
                    yield keyword, key, build_pointer(keyword, key), child
        elif keyword in KEYWORD_PARTS:
            yield keyword, "", build_pointer(keyword), value


def iterate_subschemas(schema: Schema, pointer: str = "#") -> Iterator[tuple[str, Schema]]:
    """Every subschema by its JSON pointer, the schema itself first."""
    yield pointer, schema
    for _, _, step, child in iterate_children(schema):
        yield from iterate_subschemas(child, pointer + step)


def collect_values(schema: Schema, keywords: Collection[str]) -> list[Any]:
    """The values of these keywords, where the schema has them."""
    return [schema[keyword] for keyword in keywords if isinstance(schema, dict) and keyword in schema]


def group_children(pointer: str, schema: Schema, targets: Mapping[str, str]) -> dict[Any, list[str]]:
    """The pointers of a schema's subschemas by `KEYWORD_PARTS`, or by the name or index of one field or item."""
    children: dict[Any, list[str]] = defaultdict(list)
    children[None] = [targets[reference] for reference in collect_values(schema, REFERENCE_KEYWORDS)]
    for keyword, key, step, _ in iterate_children(schema):
        if keyword == "properties" or (keyword in ITEM_KEYWORDS and isinstance(key, int)):
            children[key].append(pointer + step)
        elif keyword in KEYWORD_PARTS:
            children[KEYWORD_PARTS[keyword]].append(pointer + step)
    return children


class ValidationCost:
    """The steps that validating values with one schema takes.

    `targets`: the pointers of subschemas by reference. `pattern_costs`: steps for each character that a regular
    expression is matched against.

    Raises:
        InvalidRequestError: a subschema leads back to itself before a field or an item is looked at, or too
        many subschemas apply to one value.
    """

    def __init__(
        self, subschemas: Mapping[str, Schema], targets: Mapping[str, str], pattern_costs: Mapping[str, int]
    ) -> None:
        self.subschemas = subschemas
        self.pattern_costs = pattern_costs
        self.children = {path: group_children(path, schema, targets) for path, schema in subschemas.items()}
        self.expansions: dict[str, tuple[Counter[str], int]] = {}
        self.steps = 0
        for pointer in subschemas:
            self.expand(pointer, ())

    def expand(self, pointer: str, trail: tuple[str, ...]) -> tuple[Counter[str], int]:
        """How often each subschema applies to a value that this one applies to; the longest chain of them."""
        advice = "Refer from under `properties` or `items` only, or write out what it means."
        problem = "it refers to itself without looking at a field or an item first"
        require_at(pointer, pointer not in trail, f"{problem}. {advice}")
        if pointer in self.expansions:
            return self.expansions[pointer]
        # To know what is left, `unevaluated…` evaluates the subschemas beside it again.
        repeating_keywords = collect_values(
            self.subschemas[pointer], ("unevaluatedItems", "unevaluatedProperties")
        )
        passes = 2 if repeating_keywords else 1
        applications, chain = Counter({pointer: 1}), 1
        for child in self.children[pointer][None] if len(trail) < MAX_CHAIN_LENGTH else ():
            counts, length = self.expand(child, (*trail, pointer))
            applications.update({name: passes * count for name, count in counts.items()})
            chain = max(chain, 1 + length)
        is_small = (
            applications.total() <= MAX_SCHEMAS_PER_VALUE and max(chain, 1 + len(trail)) <= MAX_CHAIN_LENGTH
        )
        problem = f"more than {MAX_SCHEMAS_PER_VALUE:,} schemas look at one value"
        require_at(pointer, is_small, f"{problem}, or {MAX_CHAIN_LENGTH} refer to each other. {advice}")
        self.expansions[pointer] = applications, chain
        return applications, chain

    def spend_steps(self, value: Any, pointers: Counter[str]) -> int:
        """Add the steps for a value that these subschemas apply to; return its size in characters.

        Raises:
            InvalidRequestError: those of all values together are more than `MAX_STEPS`.
        """
        applications: Counter[str] = Counter()
        for pointer, count in pointers.items():
            applications.update({name: count * times for name, times in self.expansions[pointer][0].items()})
        self._spend(applications.total())
        size = len(value) if isinstance(value, str) else 1
        if isinstance(value, dict | list):
            container, items = (dict, value.items()) if isinstance(value, dict) else (list, enumerate(value))
            groups = [(self.children[name], count) for name, count in applications.items()]
            groups = [(group, count) for group, count in groups if len(group) > 1]  # not only `None`
            for key, child in items:
                self._spend(len(groups))
                child_counts: Counter[str] = Counter()
                for group, count in groups:
                    child_counts.update(dict.fromkeys(group.get(key, []) + group.get(container, []), count))
                size += len(str(key)) + self.spend_steps(child, child_counts)
        for pointer, count in applications.items():
            # An error holds a copy of the value.
            self._spend(count * (size // 200 + self._count_own_steps(self.subschemas[pointer], value)))
        return size

    def _count_own_steps(self, schema: Schema, value: Any) -> int:
        """Steps of the keywords that take longer for a longer value or a longer keyword."""
        match schema, value:
            case {"pattern": pattern}, str():
                return self.pattern_costs[pattern] * len(value)
            case dict(), dict() | list():
                names = sum(map(len, value)) if isinstance(value, dict) else 0
                patterns = sum(self.pattern_costs[pattern] for pattern in schema.get("patternProperties", ()))
                return len(schema.get("enum", ())) + patterns * names
            case _:
                return 0

    def _spend(self, steps: int) -> None:
        self.steps += steps
        require(self.steps <= MAX_STEPS, "it takes too long; make it smaller and its texts shorter")
