"""Texts as quotes are compared: typography folded, with the way back to the place in the text itself.

Folded are white space, quotation marks, dashes, ligatures, ellipses, combined accents and what cannot be seen.
Letters, digits, case and other punctuation stay: they are what a quote must not change.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}

SOFT_HYPHEN = "\u00ad"
"""Where a word may be divided; at the end of a line it joins it with the next."""

_DOUBLE = "“”„‟«»〝〞〟＂❝❞″‶「」『』｢｣"
_SINGLE = "‘’‚‛‹›❛❜′ʼ＇`´"
_DASHES = "‐‑‒–—―−﹘﹣－⸺⸻"
_INVISIBLE = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff"
_MARKS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f\u3099\u309a"

_TYPOGRAPHY = re.compile(
    rf"(?P<gap>[\s{_INVISIBLE}]{{2,}}|[^\S ]|[{_INVISIBLE}])"  # all but a single blank
    rf"|(?P<double>[{_DOUBLE}]|``|''|‘‘|’’|,,)"
    rf"|(?P<single>[{_SINGLE}])"
    rf"|(?P<dash>[{_DASHES}][{_DASHES}-]*|--+)"
    r"|(?P<ellipsis>…|\.\s\.\s\.)"
    rf"|(?P<ligature>[{''.join(_LIGATURES)}])"
    rf"|(?P<accent>[^\W\d_][{_MARKS}]+)"
)
_FOLDS = {"double": '"', "single": "'", "dash": "-", "ellipsis": "..."}

_LINE_END_HYPHEN = re.compile(r"(?<=[^\W\d_])[-‐]\s*\n\s*(?=[^\W\d_])")
_LINE_END_DASH = re.compile(rf"(?<=[{_DASHES}-])\s*\n\s*(?=\S)")


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A text as it is compared. `starts` and `places`: where pieces of it begin, here and in the text itself."""

    text: str
    starts: tuple[int, ...]
    places: tuple[int, ...]

    def find_place(self, position: int) -> int:
        """The offset in the text itself of what stands at this position."""
        piece = bisect_right(self.starts, position) - 1
        return self.places[piece] + position - self.starts[piece]


def fold(text: str) -> str:
    """The text as it is compared, without white space around it."""
    return _TYPOGRAPHY.sub(_fold_one, text).strip()


def _fold_one(match: re.Match[str]) -> str:
    found, kind = match[0], match.lastgroup or ""
    match kind:
        case "gap":
            joins = found.startswith(SOFT_HYPHEN) or not any(map(str.isspace, found))
            return "" if joins else " "
        case "ligature":
            return _LIGATURES[found]
        case "accent":
            return unicodedata.normalize("NFC", found)
        case _:
            return _FOLDS[kind]


@lru_cache(maxsize=64)
def fold_document(text: str) -> tuple[FoldedText, ...]:
    """A document as it is compared: as it is and, where words are divided at the ends of lines, with them joined.

    A hyphen there may belong to the word or not: there is a version for each.
    """
    versions = [_fold_with_places(text, None, "")]
    if _LINE_END_DASH.search(text):
        versions.append(_fold_with_places(text, _LINE_END_DASH, ""))
    if _LINE_END_HYPHEN.search(text):
        versions.append(_fold_with_places(text, _LINE_END_HYPHEN, ""))
    return tuple(versions)


def _fold_with_places(text: str, joint: re.Pattern[str] | None, replacement: str) -> FoldedText:
    """Fold a text, with what the pattern matches replaced first."""
    pieces, starts, places = list[str](), [0], [0]
    length = end = 0
    for begin, stop, folded in _find_changes(text, joint, replacement):
        kept = text[end:begin]
        pieces += (kept, folded)
        length += len(kept)
        if folded:
            starts.append(length)
            places.append(begin)
        length += len(folded)
        starts.append(length)
        places.append(stop)
        end = stop
    pieces.append(text[end:])
    return FoldedText("".join(pieces), tuple(starts), tuple(places))


def _find_changes(
    text: str, joint: re.Pattern[str] | None, replacement: str
) -> Iterator[tuple[int, int, str]]:
    """(begin, end, what stands there when folded), in order."""
    position = 0
    for joined in joint.finditer(text) if joint else ():
        for match in _TYPOGRAPHY.finditer(text, position, joined.start()):
            yield match.start(), match.end(), _fold_one(match)
        yield joined.start(), joined.end(), replacement
        position = joined.end()
    for match in _TYPOGRAPHY.finditer(text, position):
        yield match.start(), match.end(), _fold_one(match)
