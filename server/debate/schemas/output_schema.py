"""The caller's JSON Schema for a result: whether it can be used, and whether a value satisfies it.

Both the schema and the values come from elsewhere. A schema is refused if checking a value against it could
fail, fetch something or never end; and the work of one check is counted and bounded, whatever is in it.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.text import clean, collapse_whitespace, count_bytes, shorten_to_bytes
from server.debate.schemas.bounded_validator import (
    CheckTooLongError,
    SchemaPatterns,
    ValidatorClass,
    build_bounded_validator,
)
from server.debate.schemas.references import (
    EndlessSchemaError,
    Schema,
    build_application_graph,
    build_pointer,
    check_expansion,
    find_reference_targets,
    find_references,
    iterate_subschemas,
)
from server.debate.schemas.regex_cost import RegexCost, regex_cost

MAX_SCHEMA_SIZE = 20_000
MAX_SCHEMA_DEPTH = 20
MAX_VALUE_SIZE = 100_000
MAX_VALUE_DEPTH = 50
MAX_INTEGER = 2**53 - 1
MAX_VIOLATION_LENGTH = 300
MAX_EXCERPT_LENGTH = 60
MAX_ERRORS = 100

SIZE_KEYWORDS = {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}
"""Keywords of which the library says that a value is too long or short, but not for what."""

NEWEST_DRAFT = "https://json-schema.org/draft/2020-12/schema"
DRAFTS = {
    NEWEST_DRAFT: ("Draft202012Validator", {"$anchor", "$defs", "$dynamicAnchor"}),
    "https://json-schema.org/draft/2019-09/schema": ("Draft201909Validator", {"$anchor", "$defs"}),
    "http://json-schema.org/draft-07/schema": ("Draft7Validator", set[str]()),
}
"""The validator of each draft, and which of its keywords that one does not list."""


def plain_json(value: Any, *, max_depth: int = MAX_VALUE_DEPTH) -> str:
    """The value as compact JSON that every reader reads alike.

    Raises:
        ValueError: JSON cannot carry it: NaN, half a character, an integer that others would round, an
            object that is none of JSON's, or more levels than `deepest`. The text says where.
    """
    _check_json_value(value, (), max_depth)
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _check_json_value(value: Any, path: tuple[str | int, ...], max_depth: int) -> None:
    problem = _find_json_problem(value)
    if isinstance(value, dict | list) and len(path) >= max_depth:
        problem = f"is nested deeper than {max_depth} levels"
    if problem:
        raise ValueError(f"{_format_path(path) or 'it'} {problem}")
    if isinstance(value, dict | list):
        for step, one in value.items() if isinstance(value, dict) else enumerate(value):
            _check_json_value(one, (*path, step), max_depth)


def _find_json_problem(value: Any) -> str:
    """What JSON cannot carry of this very value, whatever is in it."""
    match value:
        case None | bool() | list():
            return ""
        case str():
            return "" if _is_encodable(value) else "holds half a character (a lone surrogate)"
        case int():
            whole = f"is an integer beyond {MAX_INTEGER:,}; write it as a string"
            return whole if abs(value) > MAX_INTEGER else ""
        case float():
            return "" if abs(value) < float("inf") else f"is {value}, which JSON does not have"
        case dict():
            odd = [name for name in value if not isinstance(name, str) or not _is_encodable(name)]
            return f"has a field whose name is no text: {odd[0]!r}" if odd else ""
    return f"is a {type(value).__name__}, which JSON does not have"


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _format_path(path: Any) -> str:
    return ".".join(str(step) for step in path)


@dataclass(frozen=True, slots=True)
class CompiledSchema:
    """A schema that was checked, and what it takes to check values against it."""

    text: str
    validator_class: ValidatorClass
    patterns: SchemaPatterns


def check_schema(schema: dict[str, Any] | bool) -> str:
    """The schema as compact JSON, which is what gets recorded. `{}` and `True` allow any JSON.

    Drafts 2020-12 (also where none is named), 2019-09 and 07 are read, each by its own rules.

    Raises:
        Refused: it is no schema, or none that every value can be checked against safely and in time.
    """
    return _compile_schema(schema).text


def _compile_schema(schema: Any) -> CompiledSchema:
    try:
        text = plain_json(schema, max_depth=MAX_SCHEMA_DEPTH)
    except ValueError as error:
        raise InvalidRequestError(f"`output_schema` cannot be read as JSON: {error}. Change that.") from error
    if count_bytes(text) > MAX_SCHEMA_SIZE:
        raise InvalidRequestError(
            f"`output_schema` has {count_bytes(text):,} bytes; {MAX_SCHEMA_SIZE:,} are allowed. Ask for less detail."
        )
    if not isinstance(schema, dict | bool):
        raise InvalidRequestError("`output_schema` must be a JSON object: a JSON Schema. Pass one.")
    draft, keywords = _find_validator_class(schema)
    _check_by_metaschema(draft, schema)
    parts = dict(iterate_subschemas(schema, keywords))
    for at, part in parts.items():
        _check_subschema(at, part)
    _check_references(parts, keywords)
    patterns = list(_find_patterns(parts))
    return CompiledSchema(
        text,
        draft,
        SchemaPatterns(
            {pattern: _compute_regex_cost(pattern, at) for pattern, at, _ in patterns},
            tuple({pattern: at for pattern, at, of_names in patterns if of_names}),
        ),
    )


def _build_schema_error(pointer: str, problem: str) -> InvalidRequestError:
    return InvalidRequestError(f"`output_schema` at {shorten_to_bytes(pointer, 200)}: {problem}")


def _find_validator_class(schema: Schema) -> tuple[ValidatorClass, set[str]]:
    """The validator of the draft that a schema names, and the keywords that mean something to it."""
    import jsonschema  # noqa: PLC0415  (it takes a tenth of the time in which the server starts)

    named = schema.get("$schema", NEWEST_DRAFT) if isinstance(schema, dict) else NEWEST_DRAFT
    found = DRAFTS.get(str(named).removesuffix("#"))
    if found is None:
        raise _build_schema_error(
            "#/$schema",
            f"{_format_excerpt(named)} is not read here. Leave `$schema` out for draft 2020-12, or name one of "
            f"{', '.join(DRAFTS)}.",
        )
    draft: ValidatorClass = getattr(jsonschema, found[0])
    return draft, {"then", "else", "definitions", *found[1], *draft.VALIDATORS}


def _check_by_metaschema(validator_class: ValidatorClass, schema: Schema) -> None:
    first = next(validator_class(validator_class.META_SCHEMA).iter_errors(schema), None)
    if first is not None:
        found = _find_most_relevant_error([first])
        at = "#" + build_pointer(*found.absolute_path)
        raise _build_schema_error(
            at, f"it is no valid JSON Schema: {_format_error_message(found)}. Correct it."
        )


def _check_subschema(pointer: str, schema: Schema) -> None:
    if pointer == "#" and (schema is False or (isinstance(schema, dict) and schema.get("not") in ({}, True))):
        raise _build_schema_error(pointer, "nothing can satisfy it. Say what the result should be.")
    if isinstance(schema, bool):
        return
    if schema.get("enum") == []:
        raise _build_schema_error(
            f"{pointer}/enum", "it is empty, so that nothing can satisfy it. List the values."
        )
    if pointer != "#":
        for keyword in ("$id", "$schema"):
            if keyword in schema:
                raise _build_schema_error(
                    f"{pointer}/{keyword}",
                    "only the whole schema may have one. Leave it out, and refer by `#/…`.",
                )


def _check_references(schemas: Mapping[str, Schema], keywords: set[str]) -> None:
    meant = find_reference_targets(schemas, keywords)
    for at, part in schemas.items():
        for reference in find_references(part, keywords):
            if reference not in meant:
                problem = "leads out of it" if not reference.startswith("#") else "leads to no schema in it"
                home = "$defs" if "$defs" in keywords else "definitions"
                raise _build_schema_error(
                    at,
                    f"the reference {_format_excerpt(reference)} {problem}. Put what it means under `{home}`, "
                    f'and refer to it by "#/{home}/…".',
                )
    try:
        check_expansion(build_application_graph(schemas, keywords, meant))
    except EndlessSchemaError as error:
        raise _build_schema_error(
            error.pointer,
            f"{error}. Refer from under `properties` or `items` only, or write out what it means.",
        ) from error


def _find_patterns(schemas: Mapping[str, Schema]) -> Iterator[tuple[str, str, bool]]:
    """Each regular expression, where it stands, and whether it is for the names of fields."""
    for at, part in schemas.items():
        if isinstance(part, dict):
            if "pattern" in part:
                yield part["pattern"], f"{at}/pattern", False
            for pattern in part.get("patternProperties", {}):
                yield pattern, f"{at}/patternProperties", True


def _compute_regex_cost(pattern: str, pointer: str) -> RegexCost:
    try:
        return regex_cost(pattern)
    except ValueError as error:
        raise _build_schema_error(
            pointer, f"the regular expression {_format_excerpt(pattern)} is not allowed: {error}."
        ) from error


def find_violation(schema_text: str, value: Any) -> str:
    """Nothing if the value satisfies the schema, else what is wrong, for its author to act on.

    Never raises. `format` is not asserted, whatever it names: by the standard it is a remark.
    """
    try:
        problem = _find_violation(schema_text, value)
    except RecursionError:
        problem = "the result cannot be checked: it is nested too deeply; make it flatter"
    except Exception as error:  # noqa: BLE001  (schema and value may be anything: that too is an answer)
        problem = f"the result cannot be checked: {str(error) or type(error).__name__}"
    return shorten_to_bytes(collapse_whitespace(clean(problem)), MAX_VIOLATION_LENGTH)


def _find_violation(schema_text: str, value: Any) -> str:
    try:
        text = plain_json(value)
    except ValueError as error:
        return f"the result cannot be written as JSON: {error}"
    if count_bytes(text) > MAX_VALUE_SIZE:
        return (
            f"the result has {count_bytes(text):,} bytes of JSON; {MAX_VALUE_SIZE:,} are allowed. Say less."
        )
    schema = json.loads(schema_text)
    usable = _compile_schema(schema)
    if isinstance(schema, dict):  # with these, parts would be looked up elsewhere
        schema = {name: part for name, part in schema.items() if name not in ("$schema", "$id")}
    errors = _collect_errors(
        build_bounded_validator(usable.validator_class, usable.patterns)(schema).iter_errors(json.loads(text))
    )
    if not errors:
        return ""
    return _format_error(_find_most_relevant_error(errors))


def _collect_errors(errors: Iterator[Any]) -> list[Any]:
    """Enough errors to choose from; those found so far where finding all takes too long."""
    found: list[Any] = []
    try:
        for error in errors:
            found.append(error)
            if len(found) == MAX_ERRORS:
                break
    except CheckTooLongError:
        if not found:
            raise
    return found


def _find_most_relevant_error(errors: list[Any]) -> Any:
    from jsonschema.exceptions import best_match  # noqa: PLC0415

    return best_match(errors)


def _format_error(error: Any) -> str:
    where = _format_path(error.absolute_path)
    return f"{where}: {_format_error_message(error)}" if where else _format_error_message(error)


def _format_error_message(error: Any) -> str:
    """What is wrong, with no more of the value than it takes to see it, and in JSON's words."""
    shown = _format_excerpt(error.instance)
    if error.context:
        alternatives = dict.fromkeys(_format_alternative(one) for one in error.context)
        return f"{shown} fits no alternative: {'; '.join(list(alternatives)[:3])}"
    if error.validator == "type":
        kinds = error.validator_value
        return f"{shown} is not of type {' or '.join(kinds if isinstance(kinds, list) else [kinds])}"
    if error.validator in ("const", "enum"):
        return f"{shown} is not {'one of ' * (error.validator == 'enum')}{_format_excerpt(error.validator_value, 200)}"
    message = str(error.message.replace(repr(error.instance), shown, 1))
    return (
        f"{message} ({error.validator}: {error.validator_value})"
        if error.validator in SIZE_KEYWORDS
        else message
    )


def _format_alternative(error: Any) -> str:
    where = _format_path(error.path)
    return f"{where}: {_format_error_message(error)}" if where else _format_error_message(error)


def _format_excerpt(value: Any, max_length: int = MAX_EXCERPT_LENGTH) -> str:
    return shorten_to_bytes(json.dumps(value, ensure_ascii=False), max_length)
