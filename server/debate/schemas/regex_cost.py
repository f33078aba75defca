"""Regular expressions that somebody else wrote: which of them are safe to match, and what a match may cost.

Python matches by trying one way after another, so what counts is the number of ways there are. A part that
can match in several ways must not be repeated, for then the ways multiply with every repeat; and of what is
left, `Effort.steps` is an upper bound.
"""

import re
from dataclasses import dataclass, replace

MAX_PATTERN_LENGTH = 200
MAX_OPEN_REPEATS = 4
MAX_WAYS = 10_000
MAX_COPIES = 1_000
MAX_GROUP_DEPTH = 10

_OPEN_RANGE = 10
"""A repeat with a wider range than this counts as open."""

_QUANTIFIER = re.compile(r"\{(\d*)(,?)(\d*)\}")
_SET_OPERATIONS = ("--", "&&", "~~", "||")


@dataclass(frozen=True, slots=True)
class RegexCost:
    """What it takes to match: `ways` times the text's length to the power of `open_repeats`."""

    open_repeats: int = 0
    ways: int = 1
    copies: int = 0  # characters it matches, not counting what open repeats add

    @property
    def is_ambiguous(self) -> bool:
        return self.open_repeats > 0 or self.ways > 1

    def max_steps(self, length: int) -> int:
        """At most so many steps for a text of this length."""
        paths: int = self.ways * (length + 1) ** self.open_repeats
        return paths * (1 + self.copies // 10)


def regex_cost(pattern: str) -> RegexCost:
    """What it takes to search with this pattern.

    Raises:
        ValueError: it is none, or could take too long; the text says what to change.
    """
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise ValueError(f"it has {len(pattern)} characters, and {MAX_PATTERN_LENGTH} are allowed")
    reader = _RegexParser(pattern)
    effort = reader.parse_alternatives()
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"Python cannot read it ({error})") from error
    if not pattern.startswith(("^", r"\A")) or reader.has_top_level_alternatives:
        effort = replace(effort, open_repeats=effort.open_repeats + 1)
    if effort.open_repeats > MAX_OPEN_REPEATS:
        raise ValueError(
            "it has too many open repeats (*, +, {n,}): "
            f"{MAX_OPEN_REPEATS} are allowed, or {MAX_OPEN_REPEATS - 1} where it does not begin with ^"
        )
    if effort.ways > MAX_WAYS:
        raise ValueError("its options multiply to too many ways of matching; use fewer")
    return effort


class _RegexParser:
    """Reads a pattern from left to right. What Python would refuse, it may read in any way."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.position = 0
        self.depth = 0
        self.has_top_level_alternatives = False

    def is_next(self, text: str) -> bool:
        return self.pattern.startswith(text, self.position)

    def parse_alternatives(self) -> RegexCost:
        branches = [self.parse_sequence()]
        while self.is_next("|"):
            self.position += 1
            self.has_top_level_alternatives |= self.depth == 0
            branches.append(self.parse_sequence())
        return RegexCost(
            max(branch.open_repeats for branch in branches),
            sum(branch.ways for branch in branches),
            max(branch.copies for branch in branches),
        )

    def parse_sequence(self) -> RegexCost:
        whole = RegexCost()
        while self.position < len(self.pattern) and self.pattern[self.position] not in "|)":
            part = self.parse_repeat(self.parse_atom())
            whole = RegexCost(
                whole.open_repeats + part.open_repeats,
                min(whole.ways * part.ways, MAX_WAYS + 1),
                whole.copies + part.copies,
            )
        return whole

    def parse_atom(self) -> RegexCost:
        mark = self.pattern[self.position]
        self.position += 1
        if mark == "(":
            return self.parse_group()
        if mark == "[":
            self.parse_character_class()
        elif mark == "\\":
            if self.pattern[self.position : self.position + 1] in tuple("123456789"):
                raise ValueError("it refers back to a group, which can take too long; write the group out")
            self.position += 1
        return RegexCost(copies=1)

    def parse_group(self) -> RegexCost:
        if self.is_next("?:"):
            self.position += 2
        elif self.is_next("?"):
            raise ValueError("of the groups with (? only (?:…) is allowed; write it without")
        self.depth += 1
        if self.depth > MAX_GROUP_DEPTH:
            raise ValueError(f"its groups are nested deeper than {MAX_GROUP_DEPTH}; write it flatter")
        inside = self.parse_alternatives()
        self.depth -= 1
        self.position += 1
        return replace(inside, copies=max(inside.copies, 1))  # an empty group takes its time too

    def parse_character_class(self) -> None:
        self.position += self.is_next("^")
        first = True
        while self.position < len(self.pattern) and (first or not self.is_next("]")):
            if self.is_next("[") or any(self.is_next(mark) for mark in _SET_OPERATIONS):
                raise ValueError("a class holds [, --, &&, ~~ or ||; put a backslash before each of these")
            self.position += 2 if self.is_next("\\") else 1
            first = False
        self.position += 1

    def parse_repeat(self, part: RegexCost) -> RegexCost:
        counts = self.parse_quantifier()
        if counts is None:
            return part
        least, most = counts
        if part.is_ambiguous and most != 1:
            raise ValueError(
                "it repeats what can match in several ways itself (a repeat, ? or | within a repeat), which "
                "can take exponential time; repeat single characters or classes, or ask for an array"
            )
        if most is None:
            return RegexCost(1, 1, self.check_copies(part.copies * least))
        copies = self.check_copies(part.copies * most)
        if most - least >= _OPEN_RANGE:
            return RegexCost(1, 1, copies)
        skipped = 1 if least == 0 and most == 1 else most - least
        return RegexCost(part.open_repeats, part.ways + skipped, copies)

    def check_copies(self, copies: int) -> int:
        if copies > MAX_COPIES:
            raise ValueError(f"it repeats something more than {MAX_COPIES:,} times; use maxLength")
        return copies

    def parse_quantifier(self) -> tuple[int, int | None] | None:
        """How often what was just read is to be there: the least and the most; None where once."""
        mark = self.pattern[self.position : self.position + 1]
        braces = _QUANTIFIER.match(self.pattern, self.position)
        if mark and mark in "*+?":
            self.position += 1
            found = {"*": (0, None), "+": (1, None), "?": (0, 1)}[mark]
        elif braces and braces[0] != "{}":
            self.position = braces.end()
            least = int(braces[1] or 0)
            most = least if not braces[2] else int(braces[3]) if braces[3] else None
            found = (least, most)
        else:
            return None
        if self.is_next("?") or self.is_next("+"):  # reluctant or possessive: as many ways at most
            self.position += 1
        return found
