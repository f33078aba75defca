"""A JSON Schema validator whose work is counted, so that it ends whatever it is given to check."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from server.debate.schemas.regex_cost import Effort

MOST_STEPS = 100_000
"""About a second's work."""

Draft = Any
"""A validator class of `jsonschema`, which ships no types."""

Check = Callable[[Any, Any, Any, Any], Iterator[Any] | None]
"""What one keyword demands: (validator, the keyword's value, instance, schema) -> errors."""


@dataclass(frozen=True, slots=True)
class Expressions:
    """The regular expressions of a schema, and which of them are tried on the names of fields."""

    efforts: Mapping[str, Effort]
    of_names: tuple[str, ...] = ()


class TooLong(Exception):  # noqa: N818  (it is named for what happened)
    """Checking a value takes more steps than are allowed."""


def bounded(draft: Draft, expressions: Expressions) -> Draft:
    """The draft's validator, but it raises `TooLong` after so many steps. For one check of one value."""
    from jsonschema.validators import extend  # noqa: PLC0415

    checks: dict[str, Check] = {
        **draft.VALIDATORS,
        "multipleOf": multiple_of,
        "properties": properties,
        "required": required,
        "uniqueItems": unique_items,
    }
    spent = [0]

    def spend(steps: int) -> None:
        spent[0] += steps
        if spent[0] > MOST_STEPS:
            raise TooLong("it takes too long; make it smaller and its texts shorter")

    def counted(keyword: str, check: Check) -> Check:
        def checking(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
            spend(price(expressions, keyword, wanted, instance))
            for error in check(validator, wanted, instance, schema) or ():
                spend(len(error.message) // 200)  # it quotes what it is about, at any length
                yield error

        return checking

    return extend(draft, {keyword: counted(keyword, check) for keyword, check in checks.items()})


def price(expressions: Expressions, keyword: str, wanted: Any, instance: Any) -> int:
    """The steps that a keyword takes. One is a simple comparison, or 1,000 ways of matching an expression."""
    steps = 1
    if isinstance(wanted, dict | list):
        steps += len(wanted)
    if isinstance(instance, dict | list):
        steps += len(instance) // 10
    if keyword == "uniqueItems":
        steps += len(str(instance)) // 50
    if keyword == "pattern" and isinstance(instance, str):
        steps += expressions.efforts[wanted].steps(len(instance)) // 1000
    if keyword in ("patternProperties", "additionalProperties", "unevaluatedProperties"):
        efforts = [expressions.efforts[pattern] for pattern in expressions.of_names]
        names = instance if isinstance(instance, dict) else ()
        steps += sum(effort.steps(len(name)) // 1000 + 1 for name in names for effort in efforts)
    return steps


def properties(validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """As the library's, but of a field that must not be there it says which it is."""
    from jsonschema import ValidationError  # noqa: PLC0415

    if isinstance(instance, dict):
        for name, part in wanted.items():
            if name in instance and part is False:
                yield ValidationError("is not allowed", path=(name,))
            elif name in instance:
                yield from validator.descend(instance[name], part, path=name, schema_path=name)


def required(_validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """As the library's, but what is missing is where the error is."""
    from jsonschema import ValidationError  # noqa: PLC0415

    if isinstance(instance, dict):
        for name in wanted:
            if name not in instance:
                yield ValidationError("is required", path=(name,))


def multiple_of(_validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """As the library's, but in decimals: 19.99 is a multiple of 0.01."""
    from jsonschema import ValidationError  # noqa: PLC0415

    if isinstance(instance, int | float) and not isinstance(instance, bool):
        times = Fraction(repr(instance)) / Fraction(repr(wanted))
        if times.denominator != 1:
            yield ValidationError(f"{instance!r} is not a multiple of {wanted}")


def unique_items(_validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """As the library's, but in one pass, where it compares each with each."""
    from jsonschema import ValidationError  # noqa: PLC0415

    if wanted and isinstance(instance, list):
        seen: set[str] = set()
        for index, item in enumerate(instance):
            text = json.dumps(_with_whole_numbers(item), sort_keys=True)
            if text in seen:
                yield ValidationError("is there already, and all must differ", path=(index,))
                return
            seen.add(text)


def _with_whole_numbers(value: Any) -> Any:
    """The value with 1 for 1.0, which are the same number in JSON."""
    if isinstance(value, dict):
        return {name: _with_whole_numbers(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_with_whole_numbers(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
