"""Builds a value that satisfies a JSON Schema: candidates are built from the schema until one is valid.

Not every schema is solved. The same schema and question give the same value.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from math import ceil, floor
from typing import Any

from server.debate.facts.errors import InvalidRequestError
from server.debate.schemas.output_schema import check_schema, find_violation
from server.models import ModelError

TextGenerator = Callable[[str], str]  # from the name of a property to a sentence for it

MAX_CANDIDATES = 12
MAX_NODES = 2_000  # of one candidate: references to references multiply
MAX_DEPTH = 8
MAX_TEXT_LENGTH = 160

FORMAT_EXAMPLES = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "email": "someone@example.org",
    "uri": "https://example.org/",
}


def hash_to_int(*parts: str) -> int:
    return int.from_bytes(sha256("\0".join(parts).encode("utf-8", "replace")).digest()[:6])


def build_instance(schema: Any, question: str, generate_text: TextGenerator) -> Any:
    """A value for the schema, chosen by the question. Raises ModelError if none is found."""
    problem = "it admits nothing, or too little"
    try:
        text = check_schema(schema)
        for attempt in range(MAX_CANDIDATES):
            with suppress(ValueError, TypeError):  # this candidate cannot be completed
                value = _Candidate(schema, question, generate_text, attempt).build(schema)
                if not (problem := find_violation(text, value)):
                    return value
    except InvalidRequestError as error:
        problem = str(error)
    raise ModelError("bad_request", f"scripted: found no value for the schema ({problem}).")


@dataclass(slots=True)
class _Candidate:
    """One attempt. Its number rotates the alternatives; every second attempt leaves out optional fields."""

    root: Any
    question: str
    generate_text: TextGenerator
    attempt: int
    nodes_left: int = MAX_NODES

    def build(self, schema: Any, name: str = "", depth: int = 0) -> Any:
        schema = self.flatten(schema, depth)
        number = hash_to_int(self.question, name) + self.attempt
        if options := schema.get("enum", [schema["const"]] if "const" in schema else []):
            return sorted(options, key=str)[number % len(options)]
        implied = "object" if "properties" in schema or "required" in schema else "string"
        types = schema.get("type", "array" if "items" in schema else implied)
        match types if isinstance(types, str) else types[self.attempt // 2 % len(types)]:
            case "object":
                return self.build_object(schema, depth)
            case "array":
                return self.build_array(schema, name, depth)
            case "integer" | "number" as kind:
                return build_number(schema, number, is_integer=kind == "integer")
            case "string":
                return self.build_string(schema, name)
            case kind:
                return None if kind == "null" else number % 2 == 0

    def flatten(self, schema: Any, depth: int) -> dict[str, Any]:
        """The schema with its references, `allOf` and one alternative each of `anyOf` and `oneOf` in it."""
        self.nodes_left -= 1
        if schema is False or self.nodes_left < 0 or depth > 2 * MAX_DEPTH:
            raise ValueError("it has no end, or admits nothing")
        flat_schema = dict(schema) if isinstance(schema, Mapping) else {}
        turn = self.attempt // 2
        parts = list(flat_schema.pop("allOf", []))
        parts += [self.resolve(flat_schema.pop("$ref"))] if "$ref" in flat_schema else []
        for alternatives in [flat_schema.pop(word) for word in ("anyOf", "oneOf") if word in flat_schema]:
            # Deep in a recursive schema the last alternative is tried first: it is often the end.
            parts.append(alternatives[(turn - (depth > MAX_DEPTH)) % len(alternatives)])
        for part in parts:
            other = self.flatten(part, depth)
            properties = flat_schema.get("properties", {}) | other.get("properties", {})
            required_names = [*flat_schema.get("required", ()), *other.get("required", ())]
            joined = {"properties": properties, "required": required_names}
            flat_schema |= other | {word: value for word, value in joined.items() if value}
        return flat_schema

    def resolve(self, reference: str) -> Any:
        part = self.root
        for step in reference.removeprefix("#").split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            part = part[int(key)] if isinstance(part, list) else part[key]
        return part

    def build_object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        properties, required_names = schema.get("properties", {}), schema.get("required", [])
        is_short = self.attempt % 2 or depth > MAX_DEPTH
        chosen_names = [name for name in properties if name in required_names or not is_short]
        value = {}
        for name in dict.fromkeys([*chosen_names, *required_names]):
            part = properties.get(name, schema.get("additionalProperties", True))
            try:
                value[name] = self.build(part, name, depth + 1)
            except ValueError:
                if name in required_names:
                    raise
        return value

    def build_array(self, schema: dict[str, Any], name: str, depth: int) -> list[Any]:
        usual = 0 if depth > MAX_DEPTH or (self.attempt % 2 and depth) else 1
        count = max(schema.get("minItems", 0), min(schema.get("maxItems", usual), usual))
        values: list[Any] = []
        for number in range(4 * count):  # more than are wanted: some may be alike
            value = self.build(schema.get("items", True), f"{name} {number}" if number else name, depth + 1)
            if not schema.get("uniqueItems") or value not in values:
                values.append(value)
            if len(values) == count:
                break
        return values

    def build_string(self, schema: dict[str, Any], name: str) -> str:
        low = schema.get("minLength", 0)
        high = schema.get("maxLength", max(MAX_TEXT_LENGTH, low))
        return FORMAT_EXAMPLES.get(schema.get("format", "")) or fit_text(self.generate_text(name), low, high)


def build_number(schema: Mapping[str, Any], choice: int, *, is_integer: bool) -> float:
    """A multiple within the bounds; a fraction between them if no integer fits."""
    step = max(schema.get("multipleOf", 1), 1 if is_integer else 0)
    lows = [schema[key] for key in ("minimum", "exclusiveMinimum") if key in schema]
    highs = [schema[key] for key in ("maximum", "exclusiveMaximum") if key in schema]
    low = max(lows, default=min([0, *(high - 100 * step for high in highs if high < 0)]))
    high = min(highs, default=low + 100 * step)
    low_step, high_step = ceil(low / step), floor(high / step)
    low_step += schema.get("exclusiveMinimum") == low_step * step
    high_step -= schema.get("exclusiveMaximum") == high_step * step
    value = low + (high - low) * (1 + choice % 9) / 10
    if low_step <= high_step and ("multipleOf" in schema or is_integer or high - low > 1):
        value = (low_step + choice % (high_step - low_step + 1)) * step
    return value if isinstance(value, int) else round(value, 9)


def fit_text(text: str, min_length: int, max_length: int) -> str:
    """The text, cut between words or filled up."""
    if len(text) > max_length:
        head = text[:max_length].rpartition(" ")[0].rstrip(" ,;:")
        text = head if len(head) >= max(min_length, max_length // 2) else text[:max_length].rstrip()
    return text.ljust(min_length, ".")
