"""Agents of four frameworks get a second opinion, and pay for one debate, however often they ask for it.

Each framework has an environment of its own, its own limits of time, and a scripted model that calls again with the
same arguments after an error, as models are told to, and once more when it has the verdict.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest

from tests.clients.debate_server import JUDGES, PRICE_USD
from tests.clients.frameworks.script import VERDICT
from tests.support.client_calls import call
from tests.support.paths import ROOT
from tests.support.patience import PATIENCE, SLOWNESS
from tests.support.servers import connect_client

pytestmark = [pytest.mark.requirement("M4", "M5", "N18")]

FOLDER = Path(__file__).parent
FRAMEWORKS = sorted(path.stem for path in (FOLDER / "requirements").iterdir())
IMPATIENT = {"google_adk", "openai_agents"}
"""Those that give up a call by default."""

STRETCH = min(SLOWNESS, 4.0)
CALL_PATIENCE = 5 * STRETCH
"""Their default in seconds on an idle machine: the server starts within it."""

DELAY, IMPATIENT_DELAY = 2.2, 2.2 * STRETCH
"""Seconds that each model takes. The debate takes three times as long: longer than an impatient agent waits, and less
than the server lets a call wait."""
ANSWERS = (
    4 + 4 + 2 * len(JUDGES)
)  # two rounds of two turns, two ballots of each seat, two readings of each judge


class Held(NamedTuple):
    """What came of an agent's work: what its model was shown, and what is said of the tools to its provider."""

    framework: str
    database: Path
    shown: list[str]
    tools: dict[str, Any]


@pytest.fixture(scope="module")
def held(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Held:
    framework: str = request.param
    database = tmp_path_factory.mktemp(framework) / "debates.db"
    return Held(framework, database, **run(framework, database))


def run(framework: str, database: Path) -> Any:
    """What an agent prints in the environment of its framework, where it can start our server."""
    if not (FOLDER / "environments").is_dir():
        pytest.skip("needs tests/clients/frameworks/install.sh")
    delay = IMPATIENT_DELAY if framework in IMPATIENT else DELAY
    server = {
        "command": sys.executable,
        "arguments": ["-m", "tests.clients.debate_server", str(delay)],
        "environment": {
            "PYTHONPATH": str(ROOT),
            "COUNTERPOINT_DB": str(database),
            "COUNTERPOINT_MODELS": "debater",
        },
        "patience": CALL_PATIENCE,
    }
    done = subprocess.run(
        [FOLDER / "environments" / framework / "bin" / "python", FOLDER / f"agents/{framework}_agent.py"],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "COUNTERPOINT_SERVER": json.dumps(server)},
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("held", FRAMEWORKS, indirect=True)
def test_an_agent_gets_a_verdict_and_pays_for_one_debate(held: Held) -> None:
    async def read() -> tuple[int, str]:
        async with connect_client(str(held.database), "auto") as client:
            [*debates] = (await call(client, "find_debates"))["debates"]
            verdict = await call(client, "get_verdict", debate_id=debates[0]["debate_id"])
            return len(debates), verdict["cost_usd"]

    count, cost = anyio.run(read)
    *failed, first, second = held.shown
    assert VERDICT in first
    assert VERDICT in second
    assert bool(failed) == (held.framework in IMPATIENT)
    assert count == 1
    assert float(cost) == pytest.approx(ANSWERS * float(PRICE_USD))


@pytest.mark.requirement("N17")
@pytest.mark.parametrize("held", ["openai_agents"], indirect=True)
def test_the_tools_without_many_options_fit_the_strict_mode_of_openai(held: Held) -> None:
    fitting = {name for name, is_strict in held.tools.items() if is_strict}
    assert fitting >= held.tools.keys() - {"start_debate", "intervene", "fork_debate"}
    assert len(held.tools) == 8


def find_unfit(schema: Any, path: str) -> Iterator[str]:
    """Places that Gemini refuses: objects and properties of which nothing is said, and empty texts to choose from."""
    if isinstance(schema, list):
        for index, part in enumerate(schema):
            yield from find_unfit(part, f"{path}/{index}")
    if isinstance(schema, dict):
        is_object = str(schema.get("type", "")).lower() == "object"
        if schema == {} or (is_object and not schema.get("properties")) or "" in schema.get("enum", ()):
            yield path
        for name, part in schema.items():
            yield from find_unfit(part, f"{path}/{name}")


@pytest.mark.requirement("N17")
@pytest.mark.parametrize("held", ["google_adk"], indirect=True)
def test_gemini_is_told_of_nothing_that_it_refuses(held: Held) -> None:
    assert len(held.tools) == 8
    assert list(find_unfit(held.tools, "")) == []
