"""Quotes as people made them in recorded debates: the command that counts them, on a sample of its own."""

import pytest

from benchmarks.recorded.quotes import count_quotes

pytestmark = pytest.mark.requirement("D15")

SOURCE = (
    "`` Joe wants what ? '' I asked . \n \n Pa 'd like to seal the whole place , but he ca n't -- building 's too "
    "earthquake-twisted , and besides he has to leave the chimney open for smoke . -LSB- Note : 4,000 miles -RSB-"
)
QUOTES = [
    "`` Joe wants what ? '' I asked .",
    "I asked . \n \n Pa 'd like to",
    "he ca n't -- building 's too earthquake-twisted",
    "-LSB- Note : 4,000 miles -RSB-",
    "the chimney",
]
DEBATE = {
    "source": SOURCE,
    "turns": [
        {"parts": [{"text": 'He says "no", and '}, {"quote": quote}, {"text": " so “there” it is.\n\n"}]}
        for quote in QUOTES
    ]
    + [{"parts": [{"quote": QUOTES[0]}, {"quote": QUOTES[2]}]}],
}


def test_every_quote_is_found_at_its_place_and_none_with_a_changed_letter() -> None:
    counts = count_quotes([DEBATE, DEBATE])
    assert (counts.debates, counts.quotes, counts.found, counts.misplaced) == (2, 12, 12, 0)
    assert (counts.mutants, counts.mistaken) == (240, 0)
