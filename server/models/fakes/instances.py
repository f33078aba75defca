"""A value that satisfies a JSON Schema: built from the schema, then validated; the next candidate if it fails.

Not every schema is solved. The same schema and question give the same value.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from math import ceil, floor
from string import ascii_letters, digits, punctuation
from typing import Any

from server.debate.facts.errors import InvalidRequestError
from server.debate.schemas.output_schema import check_schema, find_violation
from server.models import ModelError

TextGenerator = Callable[[str], str]  # from the name of a property to a sentence for it

MAX_CANDIDATES = 12
MAX_NODES = 2_000  # of one candidate: references to references multiply
MAX_DEPTH = 8
MAX_TEXT_LENGTH = 160
MAX_SAMPLE_LENGTH = 4_000

FORMAT_EXAMPLES = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "duration": "P1D",
    "email": "someone@example.org",
    "hostname": "example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "json-pointer": "/result",
    "regex": "^.*$",
    "time": "12:00:00Z",
    "uri": "https://example.org/",
    "uri-reference": "https://example.org/",
    "uuid": "5f0c6d6e-0d4b-4f5e-8a43-2b8f4d0c9a11",
}

# The type of a schema without a type, by its keywords; a string for any other.
_KEYWORD_TYPES = {
    "object": {"properties", "required", "additionalProperties", "minProperties"},
    "array": {"items", "prefixItems", "contains", "minItems"},
    "number": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
}
# A character, class, anchor or parenthesis, and how often it is repeated.
_PATTERN_TOKEN = re.compile(
    r"(\\u[0-9a-fA-F]{4}|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?:|\(\?P?<\w+>|.)(?:([*+?])|\{(\d+)(,?)(\d*)\})?[+?]?",
    re.DOTALL,
)
_REPEATS = {"*": (0, MAX_SAMPLE_LENGTH), "+": (1, MAX_SAMPLE_LENGTH), "?": (0, 1), None: (1, 1)}
_CANDIDATE_CHARACTERS = ascii_letters + digits + " " + punctuation + "\n\t"


def hash_to_int(*parts: str) -> int:
    return int.from_bytes(sha256("\0".join(parts).encode("utf-8", "replace")).digest()[:6])


def build_instance(schema: Any, question: str, generate_text: TextGenerator) -> Any:
    """A value for the schema, chosen by the question. Raises ModelError if none is found."""
    problem = "it admits nothing, or too little"
    try:
        text = check_schema(schema)
        for attempt in range(MAX_CANDIDATES):
            with suppress(ValueError, TypeError):  # it cannot be completed
                value = _Candidate(schema, question, generate_text, attempt).build(schema)
                if not (problem := find_violation(text, value)):
                    return value
    except InvalidRequestError as error:
        problem = str(error)
    raise ModelError("bad_request", f"scripted: found no value for the schema ({problem}).")


@dataclass(slots=True)
class _Candidate:
    """One attempt: alternatives are rotated by it, and optional fields are left out of every second one."""

    root: Any
    question: str
    generate_text: TextGenerator
    attempt: int
    nodes_left: int = MAX_NODES

    def build(self, schema: Any, name: str = "", depth: int = 0) -> Any:
        schema = self.flatten(schema, depth)
        hashed = hash_to_int(self.question, name) + self.attempt
        if options := schema.get("enum", [schema["const"]] if "const" in schema else []):
            return sorted(options, key=str)[hashed % len(options)]
        guessed = next((kind for kind, words in _KEYWORD_TYPES.items() if words & schema.keys()), "string")
        types = schema.get("type", guessed)
        match types if isinstance(types, str) else types[self.attempt // 2 % len(types)]:
            case "object":
                return self.build_object(schema, depth)
            case "array":
                return self.build_array(schema, name, depth)
            case "integer" | "number" as kind:
                return build_number(schema, hashed, is_integer=kind == "integer")
            case "string":
                return self.build_string(schema, name)
            case kind:
                return None if kind == "null" else hashed % 2 == 0

    def flatten(self, schema: Any, depth: int) -> dict[str, Any]:
        """The schema with its references, `allOf`, `if` and one alternative each of `anyOf` and `oneOf` merged in."""
        self.nodes_left -= 1
        if schema is False or self.nodes_left < 0 or depth > 2 * MAX_DEPTH:
            raise ValueError("it has no end, or admits nothing")
        merged = dict(schema) if isinstance(schema, Mapping) else {}
        turn = self.attempt // 2
        parts = list(merged.pop("allOf", []))
        parts += [self.resolve(merged.pop(word)) for word in ("$ref", "$dynamicRef") if word in merged]
        for alternatives in [merged.pop(word) for word in ("anyOf", "oneOf") if word in merged]:
            # Deep in a recursive schema the last alternative is tried first: it is often the end.
            parts.append(alternatives[(turn - (depth > MAX_DEPTH)) % len(alternatives)])
        if "if" in merged:
            condition, then, otherwise = (merged.pop(word, {}) for word in ("if", "then", "else"))
            parts += [otherwise] if turn % 2 else [condition, then]
        for part in parts:
            merged = merge_schemas(merged, self.flatten(part, depth))
        return merged

    def resolve(self, reference: str) -> Any:
        found = self.root
        for step in reference.removeprefix("#").split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            found = found[int(key)] if isinstance(found, list) else found[key]
        return found

    def build_object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        properties, least = schema.get("properties", {}), schema.get("minProperties", 0)
        dependent = schema.get("dependentRequired", {}).items()
        needed = (names for name, names in dependent if name in properties)
        required = dict.fromkeys(chain(schema.get("required", []), *needed))
        is_short = self.attempt % 2 or depth > MAX_DEPTH
        names = dict.fromkeys(name for name in properties if name in required or not is_short) | required
        spare = [*properties, *(f"item {number}" for number in range(1, min(least, MAX_NODES) + 1))]
        names |= dict.fromkeys([name for name in spare if name not in names][: max(0, least - len(names))])
        value = {}
        for name in list(names)[: max(len(required), schema.get("maxProperties", len(names)))]:
            part = properties.get(name, schema.get("additionalProperties", True))
            try:
                value[name] = self.build(part, name, depth + 1)
            except ValueError:
                if name in required:
                    raise
        return value

    def build_array(self, schema: dict[str, Any], name: str, depth: int) -> list[Any]:
        parts = list(schema.get("prefixItems", []))
        parts += [schema["contains"]] * schema.get("minContains", 1) if "contains" in schema else []
        is_short = depth > MAX_DEPTH or (self.attempt % 2 and depth)
        usual = len(parts) if is_short else max(1, len(parts))
        wanted = max(schema.get("minItems", 0), min(schema.get("maxItems", usual), usual))
        values: list[Any] = []
        for number in range(4 * wanted):
            part = parts[len(values)] if len(values) < len(parts) else schema.get("items", True)
            value = self.build(part, f"{name} {number}" if number else name, depth + 1)
            if not schema.get("uniqueItems") or value not in values:
                values.append(value)
            if len(values) == wanted:
                break
        return values

    def build_string(self, schema: dict[str, Any], name: str) -> str:
        low = schema.get("minLength", 0)
        high = schema.get("maxLength", max(MAX_TEXT_LENGTH, low))
        if "pattern" in schema:
            samples = sample_pattern(schema["pattern"], low)
            return next((text for text in samples if low <= len(text) <= high), "")
        return FORMAT_EXAMPLES.get(schema.get("format", "")) or fit_text(self.generate_text(name), low, high)


def merge_schemas(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The keywords of both schemas; where both have one, the stricter, as far as that is simple."""
    merged = one | other
    for key in one.keys() & other.keys():
        mine, theirs = one[key], other[key]
        match key:
            case "properties":
                both = {name: {"allOf": [mine[name], theirs[name]]} for name in mine.keys() & theirs.keys()}
                merged[key] = mine | theirs | both
            case "required":
                merged[key] = mine + theirs
            case "enum":
                merged[key] = [option for option in mine if option in theirs]
            case "type" if "integer" in (mine, theirs):
                merged[key] = "integer"
            case _ if key.startswith(("min", "exclusiveMin")):
                merged[key] = max(mine, theirs)
            case _ if key.startswith(("max", "exclusiveMax")):
                merged[key] = min(mine, theirs)
    return merged


def build_number(schema: Mapping[str, Any], hashed: int, *, is_integer: bool) -> float:
    """A multiple within the bounds; a fraction between them if no integer fits."""
    step = max(schema.get("multipleOf", 1), 1 if is_integer else 0)
    lows = [schema[key] for key in ("minimum", "exclusiveMinimum") if key in schema]
    highs = [schema[key] for key in ("maximum", "exclusiveMaximum") if key in schema]
    low = max(lows, default=min([0, *(high - 100 * step for high in highs if high < 0)]))
    high = min(highs, default=low + 100 * step)
    first, last = ceil(low / step), floor(high / step)
    first += schema.get("exclusiveMinimum") == first * step
    last -= schema.get("exclusiveMaximum") == last * step
    value = low + (high - low) * (1 + hashed % 9) / 10
    if first <= last and ("multipleOf" in schema or is_integer or high - low > 1):
        value = (first + hashed % (last - first + 1)) * step
    return value if isinstance(value, int) else round(value, 9)


def sample_pattern(pattern: str, min_length: int = 0) -> Iterator[str]:
    """Texts that the regular expression may match, the shortest first. The expression itself is never run."""
    with suppress(ValueError, StopIteration, re.error):
        for extra in (0, 1, 2, 4, 8, min_length):
            text, _ = _sample_group(pattern, 0, extra)
            if not pattern.endswith("$"):  # there is room after the match, or before it
                text = text.ljust(min_length, "x")
            yield text if pattern.startswith("^") else text.rjust(min_length, "x")


def _sample_group(pattern: str, position: int, extra: int) -> tuple[str, int]:
    """A text for the group that begins here, and its end. Repeats are taken `extra` times more than needed."""
    branches = [""]
    while token := _PATTERN_TOKEN.match(pattern, position):
        position = token.end()
        part, sign, least, comma, most = token.groups()
        low, high = _REPEATS[sign]
        if least:
            low, high = int(least), int(most or (MAX_SAMPLE_LENGTH if comma else least))
        repeats = min(low + extra, high, MAX_SAMPLE_LENGTH)
        if part == ")":
            return repeats * next(filter(None, branches), ""), position
        if part == "|":
            branches.append("")
        elif part.startswith("("):
            text, position = _sample_group(pattern, position, extra)
            branches[-1] += text
        elif part not in ("^", "$", r"\b", r"\B"):
            branches[-1] += repeats * next(c for c in _CANDIDATE_CHARACTERS + part if re.fullmatch(part, c))
        if len(branches[-1]) > MAX_SAMPLE_LENGTH:
            raise ValueError("the sample is too long")
    return next(filter(None, branches), ""), position


def fit_text(text: str, min_length: int, max_length: int) -> str:
    """The text, cut between words or filled up."""
    if len(text) > max_length:
        head = text[:max_length].rpartition(" ")[0].rstrip(" ,;:")
        text = head if len(head) >= max(min_length, max_length // 2) else text[:max_length].rstrip()
    return text.ljust(min_length, ".")
