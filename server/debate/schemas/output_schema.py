"""The caller's JSON Schema for a result: whether it can be used, and whether a value satisfies it.

Both the schema and the values come from elsewhere. A schema is refused if checking a value against it could
fail, fetch something or never end; and the work of one check is counted and bounded, whatever is in it.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from server.debate.facts.errors import Refused
from server.debate.facts.text import clean, one_line, shortened, size
from server.debate.schemas.bounded_validator import Draft, Expressions, TooLong, bounded
from server.debate.schemas.references import (
    Endless,
    Part,
    applied_together,
    expanded,
    parts_of,
    pointer,
    references,
    targets,
)
from server.debate.schemas.regex_cost import Effort, effort_of

LARGEST_SCHEMA = 20_000
DEEPEST_SCHEMA = 20
LARGEST_VALUE = 100_000
DEEPEST_VALUE = 50
LARGEST_INTEGER = 2**53 - 1
LONGEST_MISFIT = 300
LONGEST_SHOWN = 60
MOST_ERRORS = 100

SIZES = {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}
"""Keywords of which the library says that a value is too long or short, but not for what."""

NEWEST = "https://json-schema.org/draft/2020-12/schema"
DRAFTS = {
    NEWEST: ("Draft202012Validator", {"$anchor", "$defs", "$dynamicAnchor"}),
    "https://json-schema.org/draft/2019-09/schema": ("Draft201909Validator", {"$anchor", "$defs"}),
    "http://json-schema.org/draft-07/schema": ("Draft7Validator", set[str]()),
}
"""The validator of each draft, and which of its keywords that one does not list."""


def plain_json(value: Any, *, deepest: int = DEEPEST_VALUE) -> str:
    """The value as compact JSON that every reader reads alike.

    Raises:
        ValueError: JSON cannot carry it: NaN, half a character, an integer that others would round, an
            object that is none of JSON's, or more levels than `deepest`. The text says where.
    """
    _check_plain(value, (), deepest)
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _check_plain(value: Any, path: tuple[str | int, ...], deepest: int) -> None:
    problem = _not_plain(value)
    if isinstance(value, dict | list) and len(path) >= deepest:
        problem = f"is nested deeper than {deepest} levels"
    if problem:
        raise ValueError(f"{_dotted(path) or 'it'} {problem}")
    if isinstance(value, dict | list):
        for step, one in value.items() if isinstance(value, dict) else enumerate(value):
            _check_plain(one, (*path, step), deepest)


def _not_plain(value: Any) -> str:
    """What JSON cannot carry of this very value, whatever is in it."""
    match value:
        case None | bool() | list():
            return ""
        case str():
            return "" if _whole(value) else "holds half a character (a lone surrogate)"
        case int():
            whole = f"is an integer beyond {LARGEST_INTEGER:,}; write it as a string"
            return whole if abs(value) > LARGEST_INTEGER else ""
        case float():
            return "" if abs(value) < float("inf") else f"is {value}, which JSON does not have"
        case dict():
            odd = [name for name in value if not isinstance(name, str) or not _whole(name)]
            return f"has a field whose name is no text: {odd[0]!r}" if odd else ""
    return f"is a {type(value).__name__}, which JSON does not have"


def _whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _dotted(path: Any) -> str:
    return ".".join(str(step) for step in path)


@dataclass(frozen=True, slots=True)
class Usable:
    """A schema that was checked, and what it takes to check values against it."""

    text: str
    draft: Draft
    expressions: Expressions


def checked_schema(schema: dict[str, Any] | bool) -> str:
    """The schema as compact JSON, which is what gets recorded. `{}` and `True` allow any JSON.

    Drafts 2020-12 (also where none is named), 2019-09 and 07 are read, each by its own rules.

    Raises:
        Refused: it is no schema, or none that every value can be checked against safely and in time.
    """
    return _usable(schema).text


def _usable(schema: Any) -> Usable:
    try:
        text = plain_json(schema, deepest=DEEPEST_SCHEMA)
    except ValueError as error:
        raise Refused(f"`output_schema` cannot be read as JSON: {error}. Change that.") from error
    if size(text) > LARGEST_SCHEMA:
        raise Refused(
            f"`output_schema` has {size(text):,} bytes; {LARGEST_SCHEMA:,} are allowed. Ask for less detail."
        )
    if not isinstance(schema, dict | bool):
        raise Refused("`output_schema` must be a JSON object: a JSON Schema. Pass one.")
    draft, keywords = _draft_of(schema)
    _check_by_metaschema(draft, schema)
    parts = dict(parts_of(schema, keywords))
    for at, part in parts.items():
        _check_part(at, part)
    _check_references(parts, keywords)
    patterns = list(_patterns(parts))
    return Usable(
        text,
        draft,
        Expressions(
            {pattern: _effort(pattern, at) for pattern, at, _ in patterns},
            tuple({pattern: at for pattern, at, of_names in patterns if of_names}),
        ),
    )


def _refusal(at: str, problem: str) -> Refused:
    return Refused(f"`output_schema` at {shortened(at, 200)}: {problem}")


def _draft_of(schema: Part) -> tuple[Draft, set[str]]:
    """The validator of the draft that a schema names, and the keywords that mean something to it."""
    import jsonschema  # noqa: PLC0415  (it takes a tenth of the time in which the server starts)

    named = schema.get("$schema", NEWEST) if isinstance(schema, dict) else NEWEST
    found = DRAFTS.get(str(named).removesuffix("#"))
    if found is None:
        raise _refusal(
            "#/$schema",
            f"{_shown(named)} is not read here. Leave `$schema` out for draft 2020-12, or name one of "
            f"{', '.join(DRAFTS)}.",
        )
    draft: Draft = getattr(jsonschema, found[0])
    return draft, {"then", "else", "definitions", *found[1], *draft.VALIDATORS}


def _check_by_metaschema(draft: Draft, schema: Part) -> None:
    first = next(draft(draft.META_SCHEMA).iter_errors(schema), None)
    if first is not None:
        found = _most_relevant([first])
        at = "#" + pointer(*found.absolute_path)
        raise _refusal(at, f"it is no valid JSON Schema: {_message(found)}. Correct it.")


def _check_part(at: str, part: Part) -> None:
    if at == "#" and (part is False or (isinstance(part, dict) and part.get("not") in ({}, True))):
        raise _refusal(at, "nothing can satisfy it. Say what the result should be.")
    if isinstance(part, bool):
        return
    if part.get("enum") == []:
        raise _refusal(f"{at}/enum", "it is empty, so that nothing can satisfy it. List the values.")
    if at != "#":
        for keyword in ("$id", "$schema"):
            if keyword in part:
                raise _refusal(
                    f"{at}/{keyword}", "only the whole schema may have one. Leave it out, and refer by `#/…`."
                )


def _check_references(parts: Mapping[str, Part], keywords: set[str]) -> None:
    meant = targets(parts, keywords)
    for at, part in parts.items():
        for reference in references(part, keywords):
            if reference not in meant:
                problem = "leads out of it" if not reference.startswith("#") else "leads to no schema in it"
                home = "$defs" if "$defs" in keywords else "definitions"
                raise _refusal(
                    at,
                    f"the reference {_shown(reference)} {problem}. Put what it means under `{home}`, "
                    f'and refer to it by "#/{home}/…".',
                )
    try:
        expanded(applied_together(parts, keywords, meant))
    except Endless as error:
        raise _refusal(
            error.at, f"{error}. Refer from under `properties` or `items` only, or write out what it means."
        ) from error


def _patterns(parts: Mapping[str, Part]) -> Iterator[tuple[str, str, bool]]:
    """Each regular expression, where it stands, and whether it is for the names of fields."""
    for at, part in parts.items():
        if isinstance(part, dict):
            if "pattern" in part:
                yield part["pattern"], f"{at}/pattern", False
            for pattern in part.get("patternProperties", {}):
                yield pattern, f"{at}/patternProperties", True


def _effort(pattern: str, at: str) -> Effort:
    try:
        return effort_of(pattern)
    except ValueError as error:
        raise _refusal(at, f"the regular expression {_shown(pattern)} is not allowed: {error}.") from error


def misfit(schema_text: str, value: Any) -> str:
    """Nothing if the value satisfies the schema, else what is wrong, for its author to act on.

    Never raises. `format` is not asserted, whatever it names: by the standard it is a remark.
    """
    try:
        problem = _misfit(schema_text, value)
    except RecursionError:
        problem = "the result cannot be checked: it is nested too deeply; make it flatter"
    except Exception as error:  # noqa: BLE001  (schema and value may be anything: that too is an answer)
        problem = f"the result cannot be checked: {str(error) or type(error).__name__}"
    return shortened(one_line(clean(problem)), LONGEST_MISFIT)


def _misfit(schema_text: str, value: Any) -> str:
    try:
        text = plain_json(value)
    except ValueError as error:
        return f"the result cannot be written as JSON: {error}"
    if size(text) > LARGEST_VALUE:
        return f"the result has {size(text):,} bytes of JSON; {LARGEST_VALUE:,} are allowed. Say less."
    schema = json.loads(schema_text)
    usable = _usable(schema)
    if isinstance(schema, dict):  # with these, parts would be looked up elsewhere
        schema = {name: part for name, part in schema.items() if name not in ("$schema", "$id")}
    errors = _some_errors(bounded(usable.draft, usable.expressions)(schema).iter_errors(json.loads(text)))
    if not errors:
        return ""
    return _said(_most_relevant(errors))


def _some_errors(errors: Iterator[Any]) -> list[Any]:
    """Enough errors to choose from; those found so far where finding all takes too long."""
    found: list[Any] = []
    try:
        for error in errors:
            found.append(error)
            if len(found) == MOST_ERRORS:
                break
    except TooLong:
        if not found:
            raise
    return found


def _most_relevant(errors: list[Any]) -> Any:
    from jsonschema.exceptions import best_match  # noqa: PLC0415

    return best_match(errors)


def _said(error: Any) -> str:
    where = _dotted(error.absolute_path)
    return f"{where}: {_message(error)}" if where else _message(error)


def _message(error: Any) -> str:
    """What is wrong, with no more of the value than it takes to see it, and in JSON's words."""
    shown = _shown(error.instance)
    if error.context:
        alternatives = dict.fromkeys(_alternative(one) for one in error.context)
        return f"{shown} fits no alternative: {'; '.join(list(alternatives)[:3])}"
    if error.validator == "type":
        kinds = error.validator_value
        return f"{shown} is not of type {' or '.join(kinds if isinstance(kinds, list) else [kinds])}"
    if error.validator in ("const", "enum"):
        return f"{shown} is not {'one of ' * (error.validator == 'enum')}{_shown(error.validator_value, 200)}"
    message = str(error.message.replace(repr(error.instance), shown, 1))
    return f"{message} ({error.validator}: {error.validator_value})" if error.validator in SIZES else message


def _alternative(error: Any) -> str:
    where = _dotted(error.path)
    return f"{where}: {_message(error)}" if where else _message(error)


def _shown(value: Any, longest: int = LONGEST_SHOWN) -> str:
    return shortened(json.dumps(value, ensure_ascii=False), longest)
