"""Finds the words that a reply copies from turns."""

from server.debate.documents.marks import disarm_marks, drop_marks
from server.debate.documents.quotes import find_span
from server.debate.facts.answers import Span
from server.debate.facts.events import Spoke
from server.debate.facts.text import clean
from server.debate.state.debate import Debate

MAX_WHY_LENGTH = 400
"""Characters of a comment about such words that are stored."""

FEWEST_CHARACTERS = 4
"""Letters and digits that words must have to be searched: shorter ones occur in any turn."""

_QUOTATION_MARKS = (
    "\"'\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a\u2018\u2019`\u300c\u300d\u300e\u300f \n\t"
)


def find_words(debate: Debate, turns: list[Spoke], words: str) -> Span | None:
    """The position of these words in the first turn that contains them; None if none does.

    The words were copied from turns as shown, with the marks after quotes.
    """
    quote = drop_marks(clean(words)).strip(_QUOTATION_MARKS)
    if sum(map(str.isalnum, quote)) < FEWEST_CHARACTERS:
        return None
    for turn in filter(debate.is_active, turns):
        if span := find_span(quote, disarm_marks(turn.text)):  # which is as long as the turn
            place = {"seat": turn.seat, "round": turn.round, "slot_index": turn.slot_index}
            words_found = turn.text[span.start : span.end]
            return Span(**place, start=span.start, end=span.end, quote=words_found)
    return None
