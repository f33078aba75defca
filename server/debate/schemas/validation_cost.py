"""An upper bound of the work that validating a value takes, computed before it is validated.

The validator cannot be interrupted, and some schemas multiply: a recursive `oneOf` doubles the work with each level
of the value. So the value is walked once with the number of times that each subschema applies to each part of it.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Schema = dict[str, Any] | bool

MAX_STEPS = 100_000
"""Of one validation. A step takes about a microsecond."""

MAX_SCHEMAS_PER_VALUE = 1_000
MAX_CHAIN_LENGTH = 50

REFERENCE_KEYWORDS = ("$ref", "$dynamicRef", "$recursiveRef")
ANCHOR_KEYWORDS = ("$anchor", "$dynamicAnchor")

SAME_VALUE_KEYWORDS = {
    *("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependencies", "dependentSchemas")
}
"""Their subschemas apply to the same value."""

FIELD_KEYWORDS = {*("patternProperties", "additionalProperties", "propertyNames", "unevaluatedProperties")}
ITEM_KEYWORDS = {*("items", "prefixItems", "additionalItems", "contains", "unevaluatedItems")}
NAMED_KEYWORDS = {
    *("$defs", "definitions", "properties", "patternProperties", "dependencies", "dependentSchemas")
}
"""They hold subschemas by name."""

SUBSCHEMA_KEYWORDS = SAME_VALUE_KEYWORDS | FIELD_KEYWORDS | ITEM_KEYWORDS | NAMED_KEYWORDS


class EndlessSchemaError(ValueError):
    """Validation with the schema would not end, or take too long. `pointer` says where in the schema."""

    def __init__(self, pointer: str, problem: str) -> None:
        super().__init__(problem)
        self.pointer = pointer


class ValidationTooLongError(Exception):
    """Validating the value may take more than `MAX_STEPS`."""


def build_pointer(*steps: str | int) -> str:
    """The steps as the end of a JSON pointer."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def iterate_children(schema: Schema) -> Iterator[tuple[str, str | int, str, Schema]]:
    """(keyword, name or index, relative pointer, subschema) of the direct subschemas, in any draft."""
    for keyword, value in schema.items() if isinstance(schema, dict) else ():
        if keyword in SUBSCHEMA_KEYWORDS and (keyword in NAMED_KEYWORDS or isinstance(value, list)):
            for key, child in value.items() if isinstance(value, dict) else enumerate(value):
                if isinstance(child, dict | bool):  # `dependencies` may hold lists of names
                    yield keyword, key, build_pointer(keyword, key), child
        elif keyword in SUBSCHEMA_KEYWORDS:
            yield keyword, "", build_pointer(keyword), value


def iterate_subschemas(schema: Schema, pointer: str = "#") -> Iterator[tuple[str, Schema]]:
    """Every subschema by its JSON pointer, the schema itself first."""
    yield pointer, schema
    for _, _, step, child in iterate_children(schema):
        yield from iterate_subschemas(child, pointer + step)


def collect_values(schema: Schema, keywords: Collection[str]) -> list[Any]:
    """The values of these keywords, where the schema has them."""
    return [schema[keyword] for keyword in keywords if isinstance(schema, dict) and keyword in schema]


def find_reference_targets(subschemas: Mapping[str, Schema]) -> dict[str, str]:
    """Each reference that the schema may hold, and the pointer of the subschema that it means."""
    anchors = {
        f"#{anchor}": pointer
        for pointer, schema in subschemas.items()
        for anchor in collect_values(schema, ANCHOR_KEYWORDS)
    }
    return anchors | {pointer: pointer for pointer in subschemas}


@dataclass(slots=True)
class _Children:
    """The pointers of a schema's subschemas, by the part of a value that they apply to."""

    same_value: list[str]
    by_key: dict[str | int, list[str]] = field(default_factory=dict)  # one field or item
    fields: list[str] = field(default_factory=list)  # any field
    items: list[str] = field(default_factory=list)  # any item

    @property
    def has_nested(self) -> bool:
        """Whether anything applies to fields or items."""
        return bool(self.by_key or self.fields or self.items)

    def select(self, container: Any, key: str | int) -> list[str]:
        """The subschemas for the field or item `key` of a container. For some keywords a few too many."""
        return self.by_key.get(key, []) + (self.fields if isinstance(container, dict) else self.items)


def group_children(pointer: str, schema: Schema, targets: Mapping[str, str]) -> _Children:
    children = _Children([targets[reference] for reference in collect_values(schema, REFERENCE_KEYWORDS)])
    for keyword, key, step, _ in iterate_children(schema):
        if keyword in SAME_VALUE_KEYWORDS:
            children.same_value.append(pointer + step)
        elif keyword == "properties" or (keyword in ITEM_KEYWORDS and isinstance(key, int)):
            children.by_key.setdefault(key, []).append(pointer + step)
        elif keyword in FIELD_KEYWORDS:
            children.fields.append(pointer + step)
        elif keyword in ITEM_KEYWORDS:
            children.items.append(pointer + step)
    return children


def iterate_container(value: Any) -> Iterable[tuple[str | int, Any]]:
    """The fields or items of a value, if it has any."""
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


class ValidationCost:
    """The steps that validating values with one schema takes.

    `pattern_costs`: steps for each character that a regular expression is matched against.

    Raises:
        EndlessSchemaError: a subschema leads back to itself before a field or an item is looked at, or too many
            subschemas apply to one value.
    """

    def __init__(self, subschemas: Mapping[str, Schema], pattern_costs: Mapping[str, int]) -> None:
        targets = find_reference_targets(subschemas)
        self.subschemas = subschemas
        self.pattern_costs = pattern_costs
        self.children = {
            pointer: group_children(pointer, schema, targets) for pointer, schema in subschemas.items()
        }
        self.expansions: dict[str, tuple[Counter[str], int]] = {}
        self.steps = 0
        for pointer in subschemas:
            self.expand(pointer, ())

    def expand(self, pointer: str, trail: tuple[str, ...]) -> tuple[Counter[str], int]:
        """How often each subschema applies to a value that this one applies to; the longest chain of them."""
        if pointer in trail:
            raise EndlessSchemaError(
                pointer, "it refers to itself without looking at a field or an item first"
            )
        if pointer in self.expansions:
            return self.expansions[pointer]
        # To know what is left, `unevaluated…` evaluates the subschemas beside it again.
        passes = 1 + bool(
            collect_values(self.subschemas[pointer], ("unevaluatedItems", "unevaluatedProperties"))
        )
        applied, chain = Counter({pointer: 1}), 1
        for child in self.children[pointer].same_value if len(trail) < MAX_CHAIN_LENGTH else ():
            counts, length = self.expand(child, (*trail, pointer))
            applied.update({name: passes * count for name, count in counts.items()})
            chain = max(chain, 1 + length)
        if applied.total() > MAX_SCHEMAS_PER_VALUE or max(chain, 1 + len(trail)) > MAX_CHAIN_LENGTH:
            raise EndlessSchemaError(
                pointer,
                f"more than {MAX_SCHEMAS_PER_VALUE:,} schemas look at one value, "
                f"or {MAX_CHAIN_LENGTH} refer to each other",
            )
        self.expansions[pointer] = applied, chain
        return applied, chain

    def check_value(self, value: Any) -> None:
        """Nothing, if the value can be validated in time.

        Raises:
            ValidationTooLongError: it may take more than `MAX_STEPS`.
        """
        self.steps = 0
        self._count_steps(value, Counter({"#": 1}))

    def _count_steps(self, value: Any, pointers: Counter[str]) -> int:
        """Add the steps for a value that these subschemas apply to; return its size in characters."""
        applied: Counter[str] = Counter()
        for pointer, count in pointers.items():
            for name, times in self.expansions[pointer][0].items():
                applied[name] += count * times
        self._spend(applied.total())
        size = len(value) if isinstance(value, str) else 1
        selectors = [
            (self.children[name], count) for name, count in applied.items() if self.children[name].has_nested
        ]
        for key, child in iterate_container(value):
            self._spend(len(selectors))
            below: Counter[str] = Counter()
            for children, count in selectors:
                below.update(dict.fromkeys(children.select(value, key), count))
            size += len(str(key)) + self._count_steps(child, below)
        for pointer, count in applied.items():
            # An error holds a copy of the value.
            self._spend(count * (size // 200 + self._count_own_steps(self.subschemas[pointer], value)))
        return size

    def _count_own_steps(self, schema: Schema, value: Any) -> int:
        """Steps of the keywords that take longer for a longer value or a longer keyword."""
        if isinstance(schema, bool):
            return 0
        match value:
            case str() if "pattern" in schema:
                return self.pattern_costs[schema["pattern"]] * len(value)
            case dict():
                costs = sum(self.pattern_costs[pattern] for pattern in schema.get("patternProperties", ()))
                return costs * sum(map(len, value)) + len(schema.get("enum", ()))
            case list():
                return len(schema.get("enum", ()))
        return 0

    def _spend(self, steps: int) -> None:
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise ValidationTooLongError("it takes too long; make it smaller and its texts shorter")
