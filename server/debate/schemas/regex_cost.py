"""Regular expressions that somebody else wrote: which of them are safe to match, and what a match may cost.

Python matches by trying one way after another, so what counts is the number of ways there are. A part that
can match in several ways must not be repeated, for then the ways multiply with every repeat; and of what is
left, `Effort.steps` is an upper bound.
"""

import re
from dataclasses import dataclass, replace

LONGEST_PATTERN = 200
MOST_OPEN_REPEATS = 4
MOST_WAYS = 10_000
MOST_COPIES = 1_000
DEEPEST_GROUP = 10

_NARROW = 10
"""A repeat with a wider range than this counts as open."""

_COUNTS = re.compile(r"\{(\d*)(,?)(\d*)\}")
_SET_OPERATIONS = ("--", "&&", "~~", "||")


@dataclass(frozen=True, slots=True)
class Effort:
    """What it takes to match: `ways` times the text's length to the power of `open_repeats`."""

    open_repeats: int = 0
    ways: int = 1
    copies: int = 0  # characters it matches, not counting what open repeats add

    @property
    def varies(self) -> bool:
        return self.open_repeats > 0 or self.ways > 1

    def steps(self, length: int) -> int:
        """At most so many steps for a text of this length."""
        paths: int = self.ways * (length + 1) ** self.open_repeats
        return paths * (1 + self.copies // 10)


def effort_of(pattern: str) -> Effort:
    """What it takes to search with this pattern.

    Raises:
        ValueError: it is none, or could take too long; the text says what to change.
    """
    if len(pattern) > LONGEST_PATTERN:
        raise ValueError(f"it has {len(pattern)} characters, and {LONGEST_PATTERN} are allowed")
    reader = _Reader(pattern)
    effort = reader.alternatives()
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"Python cannot read it ({error})") from error
    if not pattern.startswith(("^", r"\A")) or reader.alternatives_at_top:
        effort = replace(effort, open_repeats=effort.open_repeats + 1)
    if effort.open_repeats > MOST_OPEN_REPEATS:
        raise ValueError(
            "it has too many open repeats (*, +, {n,}): "
            f"{MOST_OPEN_REPEATS} are allowed, or {MOST_OPEN_REPEATS - 1} where it does not begin with ^"
        )
    if effort.ways > MOST_WAYS:
        raise ValueError("its options multiply to too many ways of matching; use fewer")
    return effort


class _Reader:
    """Reads a pattern from left to right. What Python would refuse, it may read in any way."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.depth = 0
        self.alternatives_at_top = False

    def follows(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def alternatives(self) -> Effort:
        branches = [self.sequence()]
        while self.follows("|"):
            self.at += 1
            self.alternatives_at_top |= self.depth == 0
            branches.append(self.sequence())
        return Effort(
            max(branch.open_repeats for branch in branches),
            sum(branch.ways for branch in branches),
            max(branch.copies for branch in branches),
        )

    def sequence(self) -> Effort:
        whole = Effort()
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            part = self.repeated(self.atom())
            whole = Effort(
                whole.open_repeats + part.open_repeats,
                min(whole.ways * part.ways, MOST_WAYS + 1),
                whole.copies + part.copies,
            )
        return whole

    def atom(self) -> Effort:
        mark = self.pattern[self.at]
        self.at += 1
        if mark == "(":
            return self.group()
        if mark == "[":
            self.character_class()
        elif mark == "\\":
            if self.pattern[self.at : self.at + 1] in tuple("123456789"):
                raise ValueError("it refers back to a group, which can take too long; write the group out")
            self.at += 1
        return Effort(copies=1)

    def group(self) -> Effort:
        if self.follows("?:"):
            self.at += 2
        elif self.follows("?"):
            raise ValueError("of the groups with (? only (?:…) is allowed; write it without")
        self.depth += 1
        if self.depth > DEEPEST_GROUP:
            raise ValueError(f"its groups are nested deeper than {DEEPEST_GROUP}; write it flatter")
        inside = self.alternatives()
        self.depth -= 1
        self.at += 1
        return replace(inside, copies=max(inside.copies, 1))  # an empty group takes its time too

    def character_class(self) -> None:
        self.at += self.follows("^")
        first = True
        while self.at < len(self.pattern) and (first or not self.follows("]")):
            if self.follows("[") or any(self.follows(mark) for mark in _SET_OPERATIONS):
                raise ValueError("a class holds [, --, &&, ~~ or ||; put a backslash before each of these")
            self.at += 2 if self.follows("\\") else 1
            first = False
        self.at += 1

    def repeated(self, part: Effort) -> Effort:
        counts = self.counts()
        if counts is None:
            return part
        least, most = counts
        if part.varies and most != 1:
            raise ValueError(
                "it repeats what can match in several ways itself (a repeat, ? or | within a repeat), which "
                "can take exponential time; repeat single characters or classes, or ask for an array"
            )
        if most is None:
            return Effort(1, 1, self.bounded(part.copies * least))
        copies = self.bounded(part.copies * most)
        if most - least >= _NARROW:
            return Effort(1, 1, copies)
        skipped = 1 if least == 0 and most == 1 else most - least
        return Effort(part.open_repeats, part.ways + skipped, copies)

    def bounded(self, copies: int) -> int:
        if copies > MOST_COPIES:
            raise ValueError(f"it repeats something more than {MOST_COPIES:,} times; use maxLength")
        return copies

    def counts(self) -> tuple[int, int | None] | None:
        """How often what was just read is to be there: the least and the most; None where once."""
        mark = self.pattern[self.at : self.at + 1]
        braces = _COUNTS.match(self.pattern, self.at)
        if mark and mark in "*+?":
            self.at += 1
            found = {"*": (0, None), "+": (1, None), "?": (0, 1)}[mark]
        elif braces and braces[0] != "{}":
            self.at = braces.end()
            least = int(braces[1] or 0)
            most = least if not braces[2] else int(braces[3]) if braces[3] else None
            found = (least, most)
        else:
            return None
        if self.follows("?") or self.follows("+"):  # reluctant or possessive: as many ways at most
            self.at += 1
        return found
