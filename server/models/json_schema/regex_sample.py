"""A text for a regular expression. For the patterns that schemas use: no look-around, no back-references.

The pattern is never run: somebody else wrote it, and some take for ever.
"""

import re
from string import ascii_letters, digits, punctuation

_PRINTABLE = ascii_letters + digits + " " + punctuation
_CLASSES = {"d": digits, "w": ascii_letters + digits + "_", "s": " "}
_COUNT = re.compile(r"\{(\d+)(?:(,)(\d*))?\}")
_MOST_STEPS = 4_000


def sample(pattern: str, shortest: int = 0, longest: int | None = None) -> str:
    """A text that the pattern matches, of such a length if it is easily had; "" where none was found.

    Each repetition is taken as seldom as it may be, then once more than that, and so on.
    """
    for more in (0, 1, 2, 4, 8, shortest):
        try:
            text = _Sampler(pattern, more).choice()
        except (ValueError, IndexError, RecursionError):
            return ""
        # A pattern without an anchor leaves room beside it.
        if not pattern.endswith("$"):
            text = text.ljust(shortest, "x")
        elif not pattern.startswith("^"):
            text = text.rjust(shortest, "x")
        if shortest <= len(text) <= (len(text) if longest is None else longest):
            return text
    return ""


class _Sampler:
    """Reads a pattern once, from left to right, and writes while it reads."""

    def __init__(self, pattern: str, more: int) -> None:
        self.pattern = pattern
        self.more = more  # how often beyond the least a repetition is repeated
        self.at = 0

    def choice(self) -> str:
        """The first of the alternatives at this point that is not empty."""
        found = ""
        while True:
            text = self.sequence()
            found = found or text
            if self.peek() != "|":
                return found
            self.at += 1

    def sequence(self) -> str:
        pieces: list[str] = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            piece = self.atom()
            pieces.append(piece * self.times())
            if sum(map(len, pieces)) > _MOST_STEPS:
                raise ValueError("too long")
        return "".join(pieces)

    def atom(self) -> str:
        sign = self.take()
        if sign in "^$":
            return ""
        if sign == "(":
            return self.group()
        if sign == "[":
            return self.one_of()
        if sign == "\\":
            return self.escaped()[0] if self.peek() not in ("b", "B") else self.take() and ""
        return "x" if sign == "." else sign

    def group(self) -> str:
        if self.peek() == "?":
            self.at += 1
            kind = self.take()
            if kind == "P" or (kind == "<" and self.peek() not in ("=", "!")):
                self.at = self.pattern.index(">", self.at) + 1
            elif kind != ":":
                raise ValueError("look-around")
        text = self.choice()
        if self.take() != ")":
            raise ValueError("a group without an end")
        return text

    def one_of(self) -> str:
        negated = self.peek() == "^"
        self.at += negated
        listed = ""
        while self.peek() != "]" or not listed:
            sign = self.take()
            options = self.escaped() if sign == "\\" else sign
            if len(options) == 1 and self.peek() == "-" and self.pattern[self.at + 1] != "]":
                self.at += 1
                last = self.take()
                last = self.escaped() if last == "\\" else last
                options = "".join(map(chr, range(ord(options), min(ord(last), ord(options) + 200) + 1)))
            listed += options
        self.at += 1
        return next(sign for sign in _PRINTABLE if sign not in listed) if negated else listed[0]

    def escaped(self) -> str:
        """The characters that an escape may stand for."""
        sign = self.take()
        if sign in "dws":
            return _CLASSES[sign]
        if sign in "DWS":
            return "-" if sign != "S" else "x"
        if sign in "ux":
            width = 4 if sign == "u" else 2
            self.at += width
            return chr(int(self.pattern[self.at - width : self.at], 16))
        if sign in "pPk" or sign.isdigit():
            raise ValueError("an escape that is not known here")
        return {"n": "\n", "t": "\t", "r": "\r"}.get(sign, sign)

    def times(self) -> int:
        """How often the last atom is taken."""
        sign = self.peek()
        low, high = 1, 1
        if sign in ("*", "+", "?"):
            self.at += 1
            low, high = (0, 1) if sign == "?" else (int(sign == "+"), _MOST_STEPS)
        elif found := _COUNT.match(self.pattern, self.at):
            self.at = found.end()
            low = int(found[1])
            high = int(found[3]) if found[3] else _MOST_STEPS if found[2] else low
        else:
            return 1
        if self.peek() in ("?", "+"):
            self.at += 1
        return min(low + self.more, high, _MOST_STEPS)

    def peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def take(self) -> str:
        sign = self.pattern[self.at]
        self.at += 1
        return sign
