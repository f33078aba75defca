"""Texts in the form in which quotes are compared: typography is unified, and positions lead back to the original.

Unified are white space, quotation marks, dashes, ligatures, ellipses, combined accents and invisible characters.
Letters, digits, case and other punctuation stay, because a quote must not change them.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

_LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}

MOST_KEPT = 16
"""Documents whose folded form is cached: that of a long one takes megabytes."""

SOFT_HYPHEN = "\u00ad"
"""Where a word may be divided; at a line end it joins the word with its rest on the next line."""

_DOUBLE = "“”„‟«»〝〞〟＂❝❞″‶「」『』｢｣"
_SINGLE = "‘’‚‛‹›❛❜′ʼ＇`´"
_ELLIPSES = "…⋯‥"
_DASHES = "‐‑‒–—―−﹘﹣－⸺⸻"
_INVISIBLE = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff"
_MARKS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f\u3099\u309a"

_GAP = rf"[\s{_INVISIBLE}]"
_PAGE_BREAK = rf"{_GAP}*\n\[page \d{{1,5}}\]\n{_GAP}*"
"""The line at the beginning of a page (`places`): a sentence may continue after it."""

# One set of characters comes first: the engine finds it much faster than alternatives.
_TYPOGRAPHY = re.compile(
    rf"[\s{_INVISIBLE}{_DOUBLE}{_SINGLE}{_DASHES}{''.join(_LIGATURES)}{_ELLIPSES}',.-](?:"
    # All white space but a single blank, with the line at the beginning of a page.
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
    """A folded text. `starts` and `places`: where its pieces begin, in it and in the original."""

    text: str
    starts: tuple[int, ...]
    places: tuple[int, ...]
    known: dict[str, tuple[int, int, bool] | None] = field(default_factory=dict, compare=False, repr=False)
    """Quotes looked up so far, with their positions. The cache lives as long as the text."""

    def find_place(self, position: int) -> int:
        """The offset in the original of this position."""
        piece = bisect_right(self.starts, position) - 1
        return self.places[piece] + position - self.starts[piece]


def fold(text: str) -> str:
    """The folded text, without white space around it."""
    return _fold_all(text).strip()


def _fold_all(text: str) -> str:
    return _TYPOGRAPHY.sub(_fold_one, _ACCENT.sub(_compose, text))


def _compose(match: re.Match[str]) -> str:
    return unicodedata.normalize("NFC", match[0])


def drop_tight_dashes(text: str) -> str:
    """A folded text without the dashes between words: at line ends the typesetter may have added them."""
    return _TIGHT_DASH.sub("", text)


def is_division_of(quote: str, original: str) -> bool:
    """Whether a folded quote equals this piece of a document, apart from words divided at line ends.

    A hyphen there may or may not belong to the word.
    """
    pattern, position = "", 0
    for division in _DIVIDED.finditer(original):
        pattern += re.escape(_fold_all(original[position : division.start()]))
        pattern += "-?" if division[0][0] in "-‐" else ""
        position = division.end()
    pattern += re.escape(_fold_all(original[position:]))
    return re.fullmatch(pattern, quote) is not None


def _fold_one(match: re.Match[str]) -> str:
    text, kind = match[0], match.lastgroup or ""
    match kind:
        case "gap":
            joins = text.startswith(SOFT_HYPHEN) or not any(map(str.isspace, text))
            return "" if joins else " "
        case "ligature":
            return _LIGATURES[text]
        case _:
            return _FOLDS[kind]


@lru_cache(maxsize=MOST_KEPT)
def fold_document(text: str) -> FoldedText:
    return _fold_with_places(text, None)


@lru_cache(maxsize=MOST_KEPT)
def fold_without_dashes(text: str) -> FoldedText | None:
    """A folded document without the dashes between words; None if no line ends with one."""
    return _fold_with_places(text, _TIGHT_DASH) if _LINE_END_DASH.search(text) else None


def _fold_with_places(text: str, left_out: re.Pattern[str] | None) -> FoldedText:
    """Fold a text, and leave out what the pattern matches."""
    pieces, starts, places = list[str](), [0], [0]
    length = end = 0
    for begin, stop, replacement in _list_changes(text, left_out):
        rest_of_text = text[end:begin]
        pieces += (rest_of_text, replacement)
        length += len(rest_of_text)
        if replacement:
            starts.append(length)
            places.append(begin)
        length += len(replacement)
        starts.append(length)
        places.append(stop)
        end = stop
    pieces.append(text[end:])
    return FoldedText("".join(pieces), tuple(starts), tuple(places))


def _list_changes(text: str, left_out: re.Pattern[str] | None) -> Iterator[tuple[int, int, str]]:
    """(begin, end, replacement) of each change, in order."""
    position = 0
    for match in _list_special_matches(text, left_out):
        for change in _TYPOGRAPHY.finditer(text, position, match.start()):
            yield change.start(), change.end(), _fold_one(change)
        yield match.start(), match.end(), _compose(match) if match.re is _ACCENT else ""
        position = match.end()
    for change in _TYPOGRAPHY.finditer(text, position):
        yield change.start(), change.end(), _fold_one(change)


def _list_special_matches(text: str, left_out: re.Pattern[str] | None) -> list[re.Match[str]]:
    """Combined letters, which few texts have, and matches to leave out, in order."""
    accents = _ACCENT.finditer(text) if _HAS_ACCENTS.search(text) else ()
    return sorted((*accents, *(left_out.finditer(text) if left_out else ())), key=re.Match.start)
