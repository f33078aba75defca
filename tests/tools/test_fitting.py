"""Texts are cut by their length in JSON, as late as possible."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.tools.fitting import count_escaped, cut_to_escaped

pytestmark = pytest.mark.requirement("M2")

PIECES = st.text(alphabet='ab"\\\n\t/é日\U0001f9ea\x00\x7f\u2028', max_size=60)


@given(text=st.text(max_size=60) | PIECES, length=st.integers(-2, 400))
def test_a_text_is_cut_to_the_longest_beginning_that_fits(text: str, length: int) -> None:
    cut = cut_to_escaped(text, length)
    assert text.startswith(cut)
    assert count_escaped(cut) <= max(length, 0)
    assert cut == text or count_escaped(text[: len(cut) + 1]) > length
