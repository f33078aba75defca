"""Entries are encoded as RFC 8785 says, whichever encoder writes them."""

from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from storage.canonical import encode_json

pytestmark = pytest.mark.requirement("D7")

KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)


class Whole(int):
    def __repr__(self) -> str:
        return "a number"


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_every_value_is_encoded_as_by_the_reference_implementation(value: dict[str, Any]) -> None:
    assert encode_json(value) == rfc8785.dumps(value)


@pytest.mark.parametrize(
    "value",
    [
        {"\U0001f600": 1, "\ufb33": 2},  # sorted by UTF-16, not by code point
        {"a": 1.0, "b": 1e21, "c": 1e-7, "d": -0.0},
        {"a": 2**53 - 1, "b": -(2**53) + 1},
        {"a": '\u2028\x00\x1f\x7f\\"/'},
        {"a": ((), [{}], Whole(7))},
    ],
)
def test_what_the_standard_encoder_writes_differently_is_encoded_as_well(value: dict[str, Any]) -> None:
    assert encode_json(value) == rfc8785.dumps(value)


@pytest.mark.parametrize("value", [float("nan"), 2**53, -(2**53), "\ud800", b"bytes", {1: 2}, object()])
def test_what_is_no_json_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r".+"):
        encode_json({"a": value})
