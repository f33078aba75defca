"""Texts as quotes are compared: typography folded, with the way back to the place in the text itself.

Folded are white space, quotation marks, dashes, ligatures, ellipses, combined accents and what cannot be seen.
Letters, digits, case and other punctuation stay: they are what a quote must not change.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

_LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}

MOST_KEPT = 16
"""Documents that are kept as they are compared: long ones take megabytes."""

SOFT_HYPHEN = "\u00ad"
"""Where a word may be divided; at the end of a line it joins it with the next."""

_DOUBLE = "“”„‟«»〝〞〟＂❝❞″‶「」『』｢｣"
_SINGLE = "‘’‚‛‹›❛❜′ʼ＇`´"
_ELLIPSES = "…⋯‥"
_DASHES = "‐‑‒–—―−﹘﹣－⸺⸻"
_INVISIBLE = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff"
_MARKS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f\u3099\u309a"

_GAP = rf"[\s{_INVISIBLE}]"
_PAGE_BREAK = rf"{_GAP}*\n\[page \d{{1,5}}\]\n{_GAP}*"
"""The line that a page begins with (`places`): a sentence may go on there."""

# One set of characters first, which the engine looks for much faster than for alternatives.
_TYPOGRAPHY = re.compile(
    rf"[\s{_INVISIBLE}{_DOUBLE}{_SINGLE}{_DASHES}{''.join(_LIGATURES)}{_ELLIPSES}',.-](?:"
    # All but a single blank, with the line that a page begins with.
    rf"(?P<gap>(?<={_GAP})(?:(?<! )|(?={_GAP})){_GAP}*(?:(?<=\n)\[page \d{{1,5}}\]\n{_GAP}*)?)"
    rf"|(?P<double>(?<=[{_DOUBLE}])|(?<=`)`|(?<=')'|(?<=‘)‘|(?<=’)’|(?<=,),)"
    rf"|(?P<single>(?<=[{_SINGLE}]))"
    rf"|(?P<dash>(?<=[{_DASHES}])[{_DASHES}-]*|(?<=-)-+)"
    rf"|(?P<ellipsis>(?<=[{_ELLIPSES}])|(?<=\.)\s\.\s\.)"
    rf"|(?P<ligature>(?<=[{''.join(_LIGATURES)}]))"
    r")"
)
_ACCENT = re.compile(rf"[^\W\d_][{_MARKS}]+")
_HAS_ACCENTS = re.compile(f"[{_MARKS}]")
_FOLDS = {"double": '"', "single": "'", "dash": "-", "ellipsis": "..."}

_LINE_END = rf"(?:{_PAGE_BREAK}|\s*\n\s*)"
_TIGHT_DASH = re.compile(rf"(?<=\S)[{_DASHES}-]+(?:{_LINE_END})?(?=\S)")
_DIVIDED = re.compile(rf"(?<=[^\W\d_])[-‐]{_LINE_END}(?=[^\W\d_])|(?<=[{_DASHES}-]){_LINE_END}(?=\S)")
_LINE_END_DASH = re.compile(rf"[{_DASHES}-]\s*\n")


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A text as it is compared. `starts` and `places`: where pieces of it begin, here and in the text itself."""

    text: str
    starts: tuple[int, ...]
    places: tuple[int, ...]
    known: dict[str, tuple[int, int, bool] | None] = field(default_factory=dict, compare=False, repr=False)
    """Where quotes stand that were looked up, by what was asked. It is gone with the text."""

    def find_place(self, position: int) -> int:
        """The offset in the text itself of what stands at this position."""
        piece = bisect_right(self.starts, position) - 1
        return self.places[piece] + position - self.starts[piece]


def fold(text: str) -> str:
    """The text as it is compared, without white space around it."""
    return _fold_all(text).strip()


def _fold_all(text: str) -> str:
    return _TYPOGRAPHY.sub(_fold_one, _ACCENT.sub(_compose, text))


def _compose(match: re.Match[str]) -> str:
    return unicodedata.normalize("NFC", match[0])


def drop_tight_dashes(text: str) -> str:
    """A folded text without the dashes between words: those at the ends of lines may be of the typesetter."""
    return _TIGHT_DASH.sub("", text)


def is_division_of(quoted: str, original: str) -> bool:
    """Whether a folded quote is this piece of a document, apart from words that are divided at the ends of lines.

    A hyphen there may belong to the word or not.
    """
    pattern, last = "", 0
    for divided in _DIVIDED.finditer(original):
        pattern += re.escape(_fold_all(original[last : divided.start()]))
        pattern += "-?" if divided[0][0] in "-‐" else ""
        last = divided.end()
    pattern += re.escape(_fold_all(original[last:]))
    return re.fullmatch(pattern, quoted) is not None


def _fold_one(match: re.Match[str]) -> str:
    found, kind = match[0], match.lastgroup or ""
    match kind:
        case "gap":
            joins = found.startswith(SOFT_HYPHEN) or not any(map(str.isspace, found))
            return "" if joins else " "
        case "ligature":
            return _LIGATURES[found]
        case _:
            return _FOLDS[kind]


@lru_cache(maxsize=MOST_KEPT)
def fold_document(text: str) -> FoldedText:
    """A document as it is compared."""
    return _fold_with_places(text, None)


@lru_cache(maxsize=MOST_KEPT)
def fold_without_dashes(text: str) -> FoldedText | None:
    """A document without the dashes between words; None where no line ends with one."""
    return _fold_with_places(text, _TIGHT_DASH) if _LINE_END_DASH.search(text) else None


def _fold_with_places(text: str, left_out: re.Pattern[str] | None) -> FoldedText:
    """Fold a text, without what the pattern matches."""
    pieces, starts, places = list[str](), [0], [0]
    length = end = 0
    for begin, stop, folded in _find_changes(text, left_out):
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


def _find_changes(text: str, left_out: re.Pattern[str] | None) -> Iterator[tuple[int, int, str]]:
    """(begin, end, what stands there when folded), in order."""
    position = 0
    for apart in _find_apart(text, left_out):
        for match in _TYPOGRAPHY.finditer(text, position, apart.start()):
            yield match.start(), match.end(), _fold_one(match)
        yield apart.start(), apart.end(), _compose(apart) if apart.re is _ACCENT else ""
        position = apart.end()
    for match in _TYPOGRAPHY.finditer(text, position):
        yield match.start(), match.end(), _fold_one(match)


def _find_apart(text: str, left_out: re.Pattern[str] | None) -> list[re.Match[str]]:
    """Combined letters, which few texts have, and what is left out, in order."""
    accents = _ACCENT.finditer(text) if _HAS_ACCENTS.search(text) else ()
    return sorted((*accents, *(left_out.finditer(text) if left_out else ())), key=re.Match.start)
