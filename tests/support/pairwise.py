"""Few cases of many: pairwise testing."""

from collections.abc import Mapping
from itertools import combinations, product
from typing import Any

import pytest


def parametrize_pairwise(**columns: Mapping[str, Any]) -> pytest.MarkDecorator:
    """Parametrize a test by columns of named values: cases enough for each pair of two columns to occur."""
    rows = list(product(*(column.items() for column in columns.values())))
    names = [tuple(name for name, _ in row) for row in rows]
    missing = {pair for row in names for pair in find_pairs(row)}
    chosen = set[tuple[str, ...]]()
    while missing:
        best = max(names, key=lambda row: len(missing & find_pairs(row)))
        chosen.add(best)
        missing -= find_pairs(best)
    cases = [
        pytest.param(
            *(value for _, value in row),
            id="-".join(name),
        )
        for name, row in zip(names, rows, strict=True)
        if name in chosen
    ]
    return pytest.mark.parametrize(tuple(columns), cases)


def find_pairs(row: tuple[str, ...]) -> set[tuple[tuple[int, str], tuple[int, str]]]:
    return set(combinations(enumerate(row), 2))
