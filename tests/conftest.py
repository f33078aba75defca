"""Setup of the whole suite: no test can call a real provider, and every test names its requirement."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import anyio
import pytest

pytest_plugins = [
    *(
        "tests.support.suites",
        "tests.support.processes.programs",
        "tests.support.processes.served",
        "tests.support.postgres",
        "tests.support.servers",
    )
]

PROVIDERS = ("openai", "deepseek", "mistral")
"""Those that tests reach through litellm, on loopback."""

os.environ["COUNTERPOINT_OFFLINE"] = "1"
os.environ.pop(
    "PYTHONDONTWRITEBYTECODE", None
)  # tests start dozens of interpreters: each would compile all of it
os.environ.pop("COUNTERPOINT_MODELS", None)
for variable in [name for name in os.environ if name.endswith("_API_KEY")]:
    del os.environ[variable]

# To load the certificates of this machine costs each client over HTTP 30 ms, and no test needs one: this is nobody's.
os.environ["SSL_CERT_FILE"] = str(Path(__file__).parent / "support" / "certificate.pem")

# The signing key of the tests is not the user's.
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="counterpoint-")
atexit.register(shutil.rmtree, os.environ["XDG_CONFIG_HOME"], ignore_errors=True)

# Temporary databases are kept in memory: durable commits to a disk would dominate the time of the suite.
MEMORY, MIN_FREE_BYTES = Path("/dev/shm"), 256 * 2**20  # noqa: S108  (pytest creates its own folder in it)
if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > MIN_FREE_BYTES:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def litellm_used() -> None:
    """Import litellm and call each provider once, which takes seconds, outside the timeouts of the tests."""
    from server.models.providers.litellm import LitellmModel  # noqa: PLC0415
    from tests.contract.model import build_argument_request  # noqa: PLC0415
    from tests.support.provider.stub import Stub  # noqa: PLC0415  (slow imports that most tests do not need)

    async def use() -> None:
        async with Stub() as stub:
            for provider in PROVIDERS:
                patch.setenv(f"{provider.upper()}_API_BASE", stub.url)
                await LitellmModel(f"{provider}/m").reply(build_argument_request(timeout=120))

    with pytest.MonkeyPatch.context() as patch:
        for provider in PROVIDERS:
            patch.setenv(f"{provider.upper()}_API_KEY", "sk-test-0123456789abcdef")
        anyio.run(use)


POSTGRESQL = pytest.param("postgresql", marks=pytest.mark.full)
BOTH_DATABASES = ("upkeep",)
"""Folders whose tests of a `database` run over SQLite and PostgreSQL, unless they are marked `sqlite`.

In other folders those do that are marked `both_databases`.
"""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    folder = metafunc.definition.path.relative_to(Path(__file__).parent).parts[0]
    marks = {mark.name for mark in metafunc.definition.iter_markers()}
    is_for_both = "both_databases" in marks or (folder in BOTH_DATABASES and "sqlite" not in marks)
    if "database" in metafunc.fixturenames and is_for_both:
        metafunc.parametrize("database", ["sqlite", POSTGRESQL], indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    unmarked = [item.nodeid for item in items if item.get_closest_marker("requirement") is None]
    if unmarked:
        raise pytest.UsageError("These tests carry no requirement:\n" + "\n".join(unmarked))
