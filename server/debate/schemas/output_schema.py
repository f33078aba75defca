"""The caller's JSON Schema for a result: whether it can be used, and whether a value satisfies it.

Schema and values are untrusted. Validation is done by `jsonschema-rs`: references are never fetched, and
regular expressions run in linear time, without look-around and back-references.

The validator cannot be interrupted, and some schemas multiply: a recursive `oneOf` doubles the work with each level of
the value. So before it is validated, the value is walked once with the number of times that each subschema applies to
each part of it (`ValidationCost`).
"""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from server.debate.facts.errors import InvalidRequestError, require
from server.debate.facts.text import clean, collapse_whitespace, count_bytes, shorten_to_bytes
from server.debate.schemas.plain_json import plain_json

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


MAX_SCHEMA_SIZE = 20_000  # bytes
MAX_SCHEMA_DEPTH = 20
MAX_VALUE_SIZE = 100_000  # bytes
MAX_VIOLATION_LENGTH = 300  # bytes
MAX_EXCERPT_LENGTH = 60  # bytes
MAX_PATTERNS = 50

PATTERN_COSTS = {10_000: 1, 100_000: 12, 1_000_000: 125}
"""Steps for each character by the size of the compiled expression in bytes, measured at its worst."""

MAX_PATTERN_COSTS = 600
"""Of all patterns of a schema. They are compiled in one call, which nothing can interrupt: 4 of the largest size take
a thirtieth of a second."""

NEWEST_DRAFT = "https://json-schema.org/draft/2020-12/schema"
DRAFTS = (
    NEWEST_DRAFT,
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
)

_MASK = "\0"
"""What the library's messages hold in place of the value. No JSON that `clean` has seen holds it."""


def check_schema(schema: dict[str, Any] | bool) -> str:
    """The schema as compact JSON, which is what gets recorded. `{}` and `True` allow any JSON.

    Drafts 2020-12 (the default), 2019-09 and 07 are supported, each by its own rules.

    Raises:
        InvalidRequestError: it is not a schema, or not one that any value can be checked against safely and
        soon.
    """
    text, _, _ = _compile_schema(schema)
    return text


def find_violation(schema_text: str, value: Any) -> str:
    """Why the value does not satisfy the schema, in words that its author can act on; "" if it does.

    Never raises. `format` is not checked: by the standard it is an annotation.
    """
    from jsonschema_rs import ValidationError  # noqa: PLC0415  (only debates with a schema need it)

    try:
        size = count_bytes(plain_json(value))
        require(size <= MAX_VALUE_SIZE, f"it has {size:,} bytes; {MAX_VALUE_SIZE:,} are allowed. Say less.")
        _, validator, cost = _compile_schema(json.loads(schema_text))
        cost.spend_steps(value, Counter({"#": 1}))
        validator.validate(value)
    except ValidationError as error:
        problem = _format_error(error)
    except Exception as error:  # noqa: BLE001  (schema and value may be anything; that too is an answer)
        problem = f"the result cannot be checked: {str(error) or type(error).__name__}"
    else:
        return ""
    return shorten_to_bytes(collapse_whitespace(clean(problem)), MAX_VIOLATION_LENGTH)


def _compile_schema(schema: Any) -> tuple[str, Any, ValidationCost]:
    """The schema as compact JSON, its validator, and its cost."""
    from jsonschema_rs import ValidationError, meta  # noqa: PLC0415

    try:
        text = plain_json(schema, max_depth=MAX_SCHEMA_DEPTH)
    except ValueError as error:
        raise InvalidRequestError(f"`output_schema` cannot be read as JSON: {error}. Change that.") from error
    size = count_bytes(text)
    too_large = f"`output_schema` has {size:,} bytes; {MAX_SCHEMA_SIZE:,} are allowed. Ask for less detail."
    require(size <= MAX_SCHEMA_SIZE, too_large)
    problem = "`output_schema` must be a JSON object: a JSON Schema. Pass one."
    require(isinstance(schema, dict | bool), problem)
    draft = schema.get("$schema", NEWEST_DRAFT) if isinstance(schema, dict) else NEWEST_DRAFT
    advice = f"Leave `$schema` out for draft 2020-12, or name one of {', '.join(DRAFTS)}."
    is_known = str(draft).removesuffix("#") in DRAFTS
    require_at("#/$schema", is_known, f"{_format_excerpt(draft)} is not supported. {advice}")
    try:
        meta.validate(schema)
    except ValidationError as error:
        raise _translate_error(error) from None
    subschemas = dict(iterate_subschemas(schema))
    targets = {pointer: pointer for pointer in subschemas}
    for pointer, subschema in subschemas.items():
        anchors = collect_values(subschema, ANCHOR_KEYWORDS)
        targets |= {f"#{anchor}": pointer for anchor in anchors}
    for pointer, subschema in subschemas.items():
        if isinstance(subschema, dict):
            _check_subschema(pointer, subschema, targets)
    is_possible = schema is True or (schema is not False and schema.get("not") not in ({}, True))
    require_at("#", is_possible, "nothing can satisfy it. Say what the result should be.")
    cost = ValidationCost(subschemas, targets, _measure_patterns(subschemas))
    return text, _build_validator(schema, max(PATTERN_COSTS)), cost


def _translate_error(error: Any) -> InvalidRequestError:
    problem = f"it is not a valid JSON Schema: {_format_problem(error)}. Correct it."
    pointer = "#" + build_pointer(*error.instance_path)
    return build_schema_error(pointer, problem)


def _build_validator(schema: Schema, pattern_size: int) -> Any:
    """A validator whose regular expressions take at most `pattern_size` bytes when compiled.

    Raises:
        InvalidRequestError: one is larger or not supported, or a reference has no target.
    """
    from jsonschema_rs import RegexOptions, ValidationError, validator_for  # noqa: PLC0415

    options = RegexOptions(size_limit=pattern_size, dfa_size_limit=pattern_size)
    try:
        return validator_for(
            schema, offline=True, validate_formats=False, pattern_options=options, mask=_MASK
        )
    except ValidationError as error:
        raise _translate_error(error) from None


def _check_subschema(pointer: str, schema: dict[str, Any], targets: dict[str, str]) -> None:
    is_empty = schema.get("enum") == []
    require_at(f"{pointer}/enum", not is_empty, "it is empty: nothing can satisfy it. List the values.")
    for keyword in {"$id", "$schema"} & schema.keys():
        problem = "only the whole schema may have one. Leave it out, and refer by `#/…`."
        require_at(f"{pointer}/{keyword}", pointer == "#", problem)
    for reference in collect_values(schema, REFERENCE_KEYWORDS):
        problem = "leads to no schema in it" if reference.startswith("#") else "leads out of it"
        problem = f"the reference {_format_excerpt(reference)} {problem}."
        advice = 'Put what it means under `$defs`, and refer to it by "#/$defs/…".'
        require_at(pointer, reference in targets, f"{problem} {advice}")


def _measure_patterns(subschemas: dict[str, Schema]) -> dict[str, int]:
    """For each regular expression the steps for each character that it is matched against."""
    places: dict[str, str] = {}
    for pointer, schema in subschemas.items():
        places |= dict.fromkeys(collect_values(schema, ["pattern"]), f"{pointer}/pattern")
        for patterns in collect_values(schema, ["patternProperties"]):
            places |= dict.fromkeys(patterns, f"{pointer}/patternProperties")
    problem = f"it has {len(places)} regular expressions; {MAX_PATTERNS} are allowed."
    require_at("#", len(places) <= MAX_PATTERNS, problem)
    costs: dict[str, int] = {}
    for pattern, pointer in places.items():
        costs[pattern] = _measure_pattern(pattern, pointer)
        problem = "with this one, the regular expressions are too large together. Simplify them."
        require_at(pointer, sum(costs.values()) <= MAX_PATTERN_COSTS, problem)
    return costs


def _measure_pattern(pattern: str, pointer: str) -> int:
    for size, cost in PATTERN_COSTS.items():
        try:
            _build_validator({"pattern": pattern}, size)
        except InvalidRequestError:
            continue
        return cost
    problem = "is not allowed: it is malformed, uses look-around or back-references, or repeats too much."
    problem = f"the regular expression {_format_excerpt(pattern)} {problem}"
    raise build_schema_error(pointer, f"{problem} Simplify it; use maxLength for long texts.")


def _format_error(error: Any, parent_depth: int = 0) -> str:
    """The place of the error below its parent, and the problem."""
    missing = [error.kind.value] if error.kind.name == "required" else []
    place = ".".join(map(str, [*error.instance_path[parent_depth:], *missing]))
    return f"{place}: {_format_problem(error)}" if place else _format_problem(error)


def _format_problem(error: Any) -> str:
    """What is wrong, in JSON's words, with an excerpt of the value."""
    excerpt = _format_excerpt(error.instance)
    problem = str(error.message).replace(_MASK, excerpt)
    match error.kind.name, error.kind.value:
        case "required", _:
            problem = "is required"
        case "falseSchema", _ if error.schema_path[-2:-1] == ["properties"]:
            problem = "is not allowed"
        case "type", types:
            problem = f"{excerpt} is not of type {' or '.join(types)}"
        case "enum", options:
            problem = f"{excerpt} is not one of {_format_excerpt(options, 200)}"
        case "anyOf" | "oneOf", list(alternatives) if any(alternatives):
            depth = len(error.instance_path)
            problems = dict.fromkeys(_format_error(errors[0], depth) for errors in alternatives if errors)
            problem = f"{excerpt} fits no alternative: {'; '.join(list(problems)[:3])}"
    return problem


def _format_excerpt(value: Any, max_length: int = MAX_EXCERPT_LENGTH) -> str:
    return shorten_to_bytes(json.dumps(value, ensure_ascii=False), max_length)
