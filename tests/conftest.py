"""What holds for every test: no real provider is ever called, and every test carries a requirement."""

import os

import pytest

os.environ["COUNTERPOINT_OFFLINE"] = "1"
os.environ.pop("COUNTERPOINT_MODELS", None)
for variable in [name for name in os.environ if name.endswith("_API_KEY")]:
    del os.environ[variable]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    bare = [item.nodeid for item in items if item.get_closest_marker("requirement") is None]
    if bare:
        raise pytest.UsageError("These tests carry no requirement:\n" + "\n".join(bare))
