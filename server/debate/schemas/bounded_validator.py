"""A JSON Schema validator whose work is counted, so that it ends whatever it is given to check."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from server.debate.schemas.regex_cost import RegexCost

MAX_STEPS = 100_000
"""About a second's work."""

ValidatorClass = Any
"""A validator class of `jsonschema`, which ships no types."""

KeywordCheck = Callable[[Any, Any, Any, Any], Iterator[Any] | None]
"""What one keyword demands: (validator, the keyword's value, instance, schema) -> errors."""


@dataclass(frozen=True, slots=True)
class SchemaPatterns:
    """The regular expressions of a schema, and which of them are tried on the names of fields."""

    costs: Mapping[str, RegexCost]
    property_name_patterns: tuple[str, ...] = ()


class CheckTooLongError(Exception):
    """Checking a value takes more steps than are allowed."""


def build_bounded_validator(validator_class: ValidatorClass, patterns: SchemaPatterns) -> ValidatorClass:
    """The draft's validator, but it raises `TooLong` after so many steps. For one check of one value."""
    from jsonschema.validators import extend  # noqa: PLC0415

    checks: dict[str, KeywordCheck] = {
        **validator_class.VALIDATORS,
        "multipleOf": check_multiple_of,
        "properties": check_properties,
        "required": check_required,
        "uniqueItems": check_unique_items,
    }
    spent = [0]

    def spend(steps: int) -> None:
        spent[0] += steps
        if spent[0] > MAX_STEPS:
            raise CheckTooLongError("it takes too long; make it smaller and its texts shorter")

    def count_check_steps(keyword: str, check: KeywordCheck) -> KeywordCheck:
        def run_check(validator: Any, keyword_value: Any, instance: Any, schema: Any) -> Iterator[Any]:
            spend(estimate_steps(patterns, keyword, keyword_value, instance))
            for error in check(validator, keyword_value, instance, schema) or ():
                spend(len(error.message) // 200)  # it quotes what it is about, at any length
                yield error

        return run_check

    return extend(
        validator_class, {keyword: count_check_steps(keyword, check) for keyword, check in checks.items()}
    )


def estimate_steps(patterns: SchemaPatterns, keyword: str, keyword_value: Any, instance: Any) -> int:
    """The steps that a keyword takes. One is a simple comparison, or 1,000 ways of matching an expression."""
    steps = 1
    if isinstance(keyword_value, dict | list):
        steps += len(keyword_value)
    if isinstance(instance, dict | list):
        steps += len(instance) // 10
    if keyword == "uniqueItems":
        steps += len(str(instance)) // 50
    if keyword == "pattern" and isinstance(instance, str):
        steps += patterns.costs[keyword_value].max_steps(len(instance)) // 1000
    if keyword in ("patternProperties", "additionalProperties", "unevaluatedProperties"):
        efforts = [patterns.costs[pattern] for pattern in patterns.property_name_patterns]
        names = instance if isinstance(instance, dict) else ()
        steps += sum(effort.max_steps(len(name)) // 1000 + 1 for name in names for effort in efforts)
    return steps


def check_properties(validator: Any, keyword_value: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """As the library's, but of a field that must not be there it says which it is."""
    from jsonschema import ValidationError  # noqa: PLC0415

    if isinstance(instance, dict):
        for name, part in keyword_value.items():
            if name in instance and part is False:
                yield ValidationError("is not allowed", path=(name,))
            elif name in instance:
                yield from validator.descend(instance[name], part, path=name, schema_path=name)


def check_required(_validator: Any, keyword_value: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """As the library's, but what is missing is where the error is."""
    from jsonschema import ValidationError  # noqa: PLC0415

    if isinstance(instance, dict):
        for name in keyword_value:
            if name not in instance:
                yield ValidationError("is required", path=(name,))


def check_multiple_of(_validator: Any, keyword_value: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """As the library's, but in decimals: 19.99 is a multiple of 0.01."""
    from jsonschema import ValidationError  # noqa: PLC0415

    if isinstance(instance, int | float) and not isinstance(instance, bool):
        times = Fraction(repr(instance)) / Fraction(repr(keyword_value))
        if times.denominator != 1:
            yield ValidationError(f"{instance!r} is not a multiple of {keyword_value}")


def check_unique_items(_validator: Any, keyword_value: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """As the library's, but in one pass, where it compares each with each."""
    from jsonschema import ValidationError  # noqa: PLC0415

    if keyword_value and isinstance(instance, list):
        seen: set[str] = set()
        for index, item in enumerate(instance):
            text = json.dumps(_normalize_numbers(item), sort_keys=True)
            if text in seen:
                yield ValidationError("is there already, and all must differ", path=(index,))
                return
            seen.add(text)


def _normalize_numbers(value: Any) -> Any:
    """The value with 1 for 1.0, which are the same number in JSON."""
    if isinstance(value, dict):
        return {name: _normalize_numbers(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_normalize_numbers(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
