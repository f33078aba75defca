"""Sets and removes members of objects in the text of JSON with comments, so that everything else stays as it is."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]

_STRING = r'"(?:\\.|[^"\\])*"'
_COMMENT = r"//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/"  # matches in one way only: no backtracking over many comments
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
    """The text as plain JSON of the same length: spaces replace comments and trailing commas."""
    return _NOT_JSON.sub(lambda match: match[1] or re.sub(r"[^\n]", " ", match[0]), text)


def parse(text: str) -> Any:
    """Parse a text. Raises json.JSONDecodeError, with the place in the text, or ValueError for a double key."""
    return json.loads(blank(text), object_pairs_hook=_build_object)


def _build_object(members: list[tuple[str, Any]]) -> Object:
    members_by_key = dict[str, Any]()
    for key, value in members:
        if key in members_by_key:
            raise ValueError(
                f"{json.dumps(key)[:60]} stands twice in one object: programs differ in which they take"
            )
        members_by_key[key] = value
    return members_by_key


def set_member(text: str, path: Sequence[str], value: Any) -> str:
    """The text with the value at this path. Missing objects on the way are added; the text has to be an object."""
    plain, unit = blank(text), _find_unit(text)
    start = _skip(plain, 0)
    for depth, key in enumerate(path):
        members = list_members(plain, start)
        member = next((row for row in members if row.key == key), None)
        if member is None:
            entry = f"{_dump(key, unit, depth)}: {_dump(_nest(path[depth + 1 :], value), unit, depth + 1)}"
            return _insert(text, plain, start, members, entry, unit * (depth + 1))
        start = member.value
        if depth == len(path) - 1:
            return text[:start] + _dump(value, unit, len(path)) + text[member.end :]
    return text


def remove_member(text: str, path: Sequence[str]) -> str:
    """The text without the member at this path; unchanged if there is none."""
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
    """The members of the object that begins at `start`, in a text without comments. Raises ValueError if none does."""
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
    """The position of the next character that is not white space."""
    match = _SPACE.match(plain, at)
    return match.end() if match else at


def _insert(text: str, plain: str, start: int, members: Sequence[Member], entry: str, margin: str) -> str:
    """The text with an entry after the last member of an object, and after the comment on that member."""
    if not members:
        end = _skip(plain, start + 1)
        comments = text[start + 1 : end].rstrip()  # comments
        return f"{text[: start + 1]}{comments}\n{margin}{entry}\n{_margin_of(text, start)}{text[end:]}"
    last_end = members[-1].end
    behind = re.match(rf"(\s*,)?([ \t]*(?:{_COMMENT}))?", text[last_end:], re.DOTALL)
    comma, remark = (behind[1] or "", behind[2] or "") if behind else ("", "")
    remainder = text[last_end + len(comma) + len(remark) :]
    return f"{text[:last_end]}{comma or ','}{remark}\n{margin}{entry}{',' if comma else ''}{remainder}"


def _margin_of(text: str, at: int) -> str:
    """The indentation of the line with this position."""
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
    """The indentation of one level in the file."""
    match = re.search(r"\{[^\n]*\n(?:\s*//[^\n]*\n)*([ \t]+)\S", text)
    return match[1] if match else "  "
