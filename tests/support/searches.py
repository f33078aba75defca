"""How long hypothesis searches: the suite decides (`tests/support/suites.py`), a test says what its examples cost."""

from hypothesis import settings


def search_briefly(cost: int) -> settings:
    """For a test whose examples take `cost` times as long as usual ones."""
    return settings(max_examples=max(1, settings().max_examples // cost))
