"""What holds for every test: no real provider is ever called, and every test carries a requirement."""

import os
import shutil
from pathlib import Path

import anyio
import pytest

pytest_plugins = ["tests.support.servers"]

os.environ["COUNTERPOINT_OFFLINE"] = "1"
os.environ.pop("COUNTERPOINT_MODELS", None)
for variable in [name for name in os.environ if name.endswith("_API_KEY")]:
    del os.environ[variable]

# A commit waits for the disk, and thousands of them are most of what a test of the server waits for.
MEMORY, ENOUGH = Path("/dev/shm"), 256 * 2**20  # noqa: S108  (pytest makes a folder of its own in it)
if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ENOUGH:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def litellm_used() -> None:
    """Litellm, and what it imports at its first call: seconds that no test's patience is for."""
    from benchmarks.stub import Stub  # noqa: PLC0415  (only where it is wanted)
    from server.models.litellm.client import LitellmModel  # noqa: PLC0415
    from tests.contract.model import build_argument_request  # noqa: PLC0415

    async def use() -> None:
        async with Stub() as stub:
            await LitellmModel("openai/m", api_base=stub.url).reply(build_argument_request(timeout=120))

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
        anyio.run(use)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    bare = [item.nodeid for item in items if item.get_closest_marker("requirement") is None]
    if bare:
        raise pytest.UsageError("These tests carry no requirement:\n" + "\n".join(bare))
