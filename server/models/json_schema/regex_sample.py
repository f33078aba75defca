"""A text for a regular expression. For the patterns that schemas use: no look-around, no back-references.

The pattern is never run: somebody else wrote it, and some take for ever.
"""

import re
from string import ascii_letters, digits, punctuation

_PRINTABLE = ascii_letters + digits + " " + punctuation
_CHARACTER_CLASSES = {"d": digits, "w": ascii_letters + digits + "_", "s": " "}
_QUANTIFIER = re.compile(r"\{(\d+)(?:(,)(\d*))?\}")
_MAX_LENGTH = 4_000


def build_sample(pattern: str, min_length: int = 0, max_length: int | None = None) -> str:
    """A text that the pattern matches, of such a length if it is easily had; "" where none was found.

    Each repetition is taken as seldom as it may be, then once more than that, and so on.
    """
    for more in (0, 1, 2, 4, 8, min_length):
        try:
            text = _Sampler(pattern, more).sample_choice()
        except (ValueError, IndexError, RecursionError):
            return ""
        # A pattern without an anchor leaves room beside it.
        if not pattern.endswith("$"):
            text = text.ljust(min_length, "x")
        elif not pattern.startswith("^"):
            text = text.rjust(min_length, "x")
        if min_length <= len(text) <= (len(text) if max_length is None else max_length):
            return text
    return ""


class _Sampler:
    """Reads a pattern once, from left to right, and writes while it reads."""

    def __init__(self, pattern: str, extra_repeats: int) -> None:
        self.pattern = pattern
        self.extra_repeats = extra_repeats  # how often beyond the least a repetition is repeated
        self.position = 0

    def sample_choice(self) -> str:
        """The first of the alternatives at this point that is not empty."""
        found = ""
        while True:
            text = self.sample_sequence()
            found = found or text
            if self.peek() != "|":
                return found
            self.position += 1

    def sample_sequence(self) -> str:
        pieces: list[str] = []
        while self.position < len(self.pattern) and self.pattern[self.position] not in "|)":
            piece = self.sample_atom()
            pieces.append(piece * self.read_repeat_count())
            if sum(map(len, pieces)) > _MAX_LENGTH:
                raise ValueError("too long")
        return "".join(pieces)

    def sample_atom(self) -> str:
        sign = self.read_character()
        if sign in "^$":
            return ""
        if sign == "(":
            return self.sample_group()
        if sign == "[":
            return self.sample_character_class()
        if sign == "\\":
            return self.read_escape()[0] if self.peek() not in ("b", "B") else self.read_character() and ""
        return "x" if sign == "." else sign

    def sample_group(self) -> str:
        if self.peek() == "?":
            self.position += 1
            kind = self.read_character()
            if kind == "P" or (kind == "<" and self.peek() not in ("=", "!")):
                self.position = self.pattern.index(">", self.position) + 1
            elif kind != ":":
                raise ValueError("look-around")
        text = self.sample_choice()
        if self.read_character() != ")":
            raise ValueError("a group without an end")
        return text

    def sample_character_class(self) -> str:
        negated = self.peek() == "^"
        self.position += negated
        listed = ""
        while self.peek() != "]" or not listed:
            sign = self.read_character()
            options = self.read_escape() if sign == "\\" else sign
            if len(options) == 1 and self.peek() == "-" and self.pattern[self.position + 1] != "]":
                self.position += 1
                last = self.read_character()
                last = self.read_escape() if last == "\\" else last
                options = "".join(map(chr, range(ord(options), min(ord(last), ord(options) + 200) + 1)))
            listed += options
        self.position += 1
        return next(sign for sign in _PRINTABLE if sign not in listed) if negated else listed[0]

    def read_escape(self) -> str:
        """The characters that an escape may stand for."""
        sign = self.read_character()
        if sign in "dws":
            return _CHARACTER_CLASSES[sign]
        if sign in "DWS":
            return "-" if sign != "S" else "x"
        if sign in "ux":
            width = 4 if sign == "u" else 2
            self.position += width
            return chr(int(self.pattern[self.position - width : self.position], 16))
        if sign in "pPk" or sign.isdigit():
            raise ValueError("an escape that is not known here")
        return {"n": "\n", "t": "\t", "r": "\r"}.get(sign, sign)

    def read_repeat_count(self) -> int:
        """How often the last atom is taken."""
        sign = self.peek()
        low, high = 1, 1
        if sign in ("*", "+", "?"):
            self.position += 1
            low, high = (0, 1) if sign == "?" else (int(sign == "+"), _MAX_LENGTH)
        elif found := _QUANTIFIER.match(self.pattern, self.position):
            self.position = found.end()
            low = int(found[1])
            high = int(found[3]) if found[3] else _MAX_LENGTH if found[2] else low
        else:
            return 1
        if self.peek() in ("?", "+"):
            self.position += 1
        return min(low + self.extra_repeats, high, _MAX_LENGTH)

    def peek(self) -> str:
        return self.pattern[self.position : self.position + 1]

    def read_character(self) -> str:
        sign = self.pattern[self.position]
        self.position += 1
        return sign
