"""A turn for each of the eight patterns of rhetoric."""

from dataclasses import dataclass

from server.debate.seats.observer import Pattern


@dataclass(frozen=True, slots=True)
class Case:
    """A turn of Ada's after one of Bob's. `words`: those that have the pattern."""

    pattern: Pattern
    words: str
    rest: str = ""
    before: str = "The rewrite takes two years and brings nothing that customers asked for."
    original: str = ""  # of a straw man: Bob's words

    @property
    def turn(self) -> str:
        return f"{self.words} {self.rest}".strip()


CASES = (
    Case("concession", "You are right that the first year will be slower.", "It pays back in the third."),
    Case("rebuttal", "The modules have since been split, so that each ships in a month."),
    Case("synthesis", "Rewrite the billing alone and leave the rest: that meets your two years and my risk."),
    Case("appeal_to_authority", "Knuth would never have allowed two years for this", "and that settles it."),
    Case("appeal_to_evidence", "In the log of 3 May the job fails 14 times between two and three."),
    Case("ad_hominem", "Bob has never shipped anything in his life", "so his two years mean little."),
    Case("emotional_appeal", "Think of the night shift, in tears before a frozen screen once more."),
    Case(
        "straw_man",
        "Bob wants us never to touch the code again.",
        "That cannot be right.",
        before="Wait until June. The rewrite may start then, with the billing first and a review after it.",
        original="Wait until June.",
    ),
)
