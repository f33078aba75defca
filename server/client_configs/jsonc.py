"""Members of objects in JSON with comments: set and removed in the text, so that all else stays as it is."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]

_STRING = r'"(?:\\.|[^"\\])*"'
_COMMENT = r"//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/"  # in one way only: several in a row stay quick
_NOT_JSON = re.compile(rf"({_STRING})|{_COMMENT}|,(?=(?:\s|{_COMMENT})*[}}\]])", re.DOTALL)
_SPACE = re.compile(r"\s*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Member:
    key: str
    start: int  # of the key
    value: int  # where the value begins
    end: int  # of the value
    content: Any


def blank(text: str) -> str:
    """The text as plain JSON of the same length: spaces in place of comments and of commas before an end."""
    return _NOT_JSON.sub(lambda found: found[1] or re.sub(r"[^\n]", " ", found[0]), text)


def parse(text: str) -> Any:
    """The value. Raises json.JSONDecodeError, with the place in the text as it is, or ValueError for a doubled key."""
    return json.loads(blank(text), object_pairs_hook=_build_object)


def _build_object(members: list[tuple[str, Any]]) -> Object:
    found = dict[str, Any]()
    for key, value in members:
        if key in found:
            raise ValueError(
                f"{json.dumps(key)[:60]} stands twice in one object: programs differ in which they take"
            )
        found[key] = value
    return found


def set_member(text: str, path: Sequence[str], value: Any) -> str:
    """The text with the value at this path. Objects on the way are made; the text has to be an object."""
    plain, unit = blank(text), _find_unit(text)
    start = _skip(plain, 0)
    for depth, key in enumerate(path):
        members = list_members(plain, start)
        found = next((member for member in members if member.key == key), None)
        if found is None:
            entry = f"{_dump(key, unit, depth)}: {_dump(_nest(path[depth + 1 :], value), unit, depth + 1)}"
            return _insert(text, plain, start, members, entry, unit * (depth + 1))
        start = found.value
        if depth == len(path) - 1:
            return text[:start] + _dump(value, unit, len(path)) + text[found.end :]
    return text


def remove_member(text: str, path: Sequence[str]) -> str:
    """The text without the member at this path; as it is where there is none."""
    plain = blank(text)
    start, members, position = _skip(plain, 0), list[Member](), 0
    for key in path:
        members = list_members(plain, start)
        keys = [member.key for member in members]
        if key not in keys:
            return text
        position = keys.index(key)
        start = members[position].value
    begin, end = members[position].start, members[position].end
    if behind := re.match(r"\s*,", text[end:]):
        end += behind.end()
    before, after = text[:begin], text[end:]
    if not behind and position:
        comma = plain.index(",", members[position - 1].end)
        before = text[:comma] + text[comma + 1 : begin]
    line_end = re.match(r"[ \t]*\n", after)
    line_start = len(before.rstrip(" \t"))
    if line_end and before[:line_start].endswith("\n"):
        return before[:line_start] + after[line_end.end() :]
    return before + after


def list_members(plain: str, start: int) -> list[Member]:
    """The members of the object that begins here, in a text without comments. Raises ValueError where none does."""
    if plain[start : start + 1] != "{":
        raise ValueError(f"it has no object at character {start + 1}")
    members: list[Member] = []
    at = _skip(plain, start + 1)
    while plain[at] != "}":
        key, end = _DECODER.raw_decode(plain, at)
        value = _skip(plain, _skip(plain, end) + 1)  # after the colon
        content, value_end = _DECODER.raw_decode(plain, value)
        members.append(Member(key, at, value, value_end, content))
        at = _skip(plain, value_end)
        if plain[at] == ",":
            at = _skip(plain, at + 1)
    return members


def _skip(plain: str, at: int) -> int:
    """Where the next thing stands that is not white space."""
    found = _SPACE.match(plain, at)
    return found.end() if found else at


def _insert(text: str, plain: str, start: int, members: Sequence[Member], entry: str, margin: str) -> str:
    """The text with an entry behind the last member of an object, and behind what is remarked on that."""
    if not members:
        end = _skip(plain, start + 1)
        kept = text[start + 1 : end].rstrip()  # comments
        return f"{text[: start + 1]}{kept}\n{margin}{entry}\n{_margin_of(text, start)}{text[end:]}"
    last = members[-1].end
    behind = re.match(rf"(\s*,)?([ \t]*(?:{_COMMENT}))?", text[last:], re.DOTALL)
    comma, remark = (behind[1] or "", behind[2] or "") if behind else ("", "")
    rest = text[last + len(comma) + len(remark) :]
    return f"{text[:last]}{comma or ','}{remark}\n{margin}{entry}{',' if comma else ''}{rest}"


def _margin_of(text: str, at: int) -> str:
    """The white space before the line in which this stands."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _nest(path: Sequence[str], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _dump(value: Any, unit: str, depth: int) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=unit)
    return text.replace("\n", "\n" + unit * depth)


def _find_unit(text: str) -> str:
    """What the file is indented by."""
    found = re.search(r"\{[^\n]*\n(?:\s*//[^\n]*\n)*([ \t]+)\S", text)
    return found[1] if found else "  "
