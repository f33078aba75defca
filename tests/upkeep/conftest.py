from pathlib import Path

import pytest


@pytest.fixture
def other(request: pytest.FixtureRequest, database: str, tmp_path: Path) -> str:
    """A database of the other kind."""
    if database.startswith("postgresql"):
        return str(tmp_path / "other.db")
    return str(request.getfixturevalue("postgres_database"))
