"""What the models of real hosts are shown of a debate: the requests that the hosts send are recorded."""

import json
import re
import shutil
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.clients.debate_server import DISSENTER, JUDGES, PRICE_USD
from tests.clients.hosts.hosts import HOSTS, MODULES, PROMPT, Host, Server
from tests.clients.hosts.stand_in import Record, Script, ToolCall, run_stand_in
from tests.support.client_calls import call, read_resource
from tests.support.paths import ROOT
from tests.support.servers import connect_client

pytestmark = [pytest.mark.requirement("M4", "M5"), pytest.mark.node]

QUESTION, ASKED = "Ship on Friday?", "Do we move in June?"
SECOND_OPINION = {
    "question": QUESTION,
    "run": True,
    "debaters": [{"name": "Ada", "stance": "now"}, {"name": "Ben", "stance": "later"}],
    "options": {"judges": {"models": JUDGES}},
}
ANSWERS = (
    4 + 4 + 2 * len(JUDGES)
)  # two rounds of two turns, two ballots of each seat, two readings of each judge
LONG_TURN, TURNS = 4_000, 18


@pytest.fixture(params=HOSTS, ids=lambda host: host.name)
def host(request: pytest.FixtureRequest) -> Host:
    found: Host = request.param
    if not any(MODULES.glob(found.program)):
        pytest.skip("needs `npm install` in tests/clients/hosts")
    return found


def build_server(home: Path) -> Server:
    return Server(
        command=[sys.executable, "-m", "tests.clients.debate_server"],
        environment={
            "PYTHONPATH": str(ROOT),
            "COUNTERPOINT_DB": str(home / "debates.db"),
            "COUNTERPOINT_MODELS": "debater",
        },
    )


def talk(host: Host, home: Path, script: Script) -> Record:
    """What the host sent: the results that its model was shown, and all else."""
    prompt = f"/mcp__counterpoint__second_opinion {ASKED}" if host.has_commands else PROMPT
    with run_stand_in(script) as stand_in:
        printed = host.run(home, stand_in.url, build_server(home), prompt)
        assert "The last words." in printed, printed
        return stand_in.record


def read_page(host: Host, shown: str) -> str:
    """The text of a page within what was shown: a field of the structured result, or what stands before our lines."""
    if host.shows == "text":
        text = shown.replace("<untrusted_context>\n", "").replace("\n</untrusted_context>", "")  # Gemini CLI
        return text.rpartition(f"{host.between}Debate ")[0]
    page, _ = json.JSONDecoder().raw_decode(shown[shown.index("{") :])
    return str(page["text"])


WRONG: list[dict[str, Any]] = [
    {"question": "Which day?", "judges": {"cuont": 1}},
    {"question": "Which day?", "advisors": ["debater"]},
    {"topic": "Which day?", "question": "Which week?"},
]
TOLD = [
    r"`judges` belongs in `options`: options={\"judges\": …}",
    "`advisors` is unknown: pass models=[…], one for each",
    "`topic` is another word for `question`",
]


@pytest.fixture(scope="module")
def long_debate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A database, the id of a debate in it, and the debate's transcript."""
    database = tmp_path_factory.mktemp("long") / "debates.db"
    debaters = [{"name": f"N{number}", "stance": f"stance {number}"} for number in range(TURNS // 2)]

    async def hold() -> tuple[str, str]:
        async with connect_client(str(database), "auto", default=f"scripted?chars={LONG_TURN}") as client:
            held = await call(client, "start_debate", question="Ship at all?", run=True, debaters=debaters)
            uri = f"debate://{held['debate_id']}/transcript"
            return held["debate_id"], await read_resource(client, uri)

    debate_id, transcript = anyio.run(hold)
    return database, debate_id, transcript


@pytest.mark.requirement("M2", "N13")
def test_the_model_is_told_what_is_wrong_and_shown_a_second_opinion_and_a_long_transcript_to_its_end(
    host: Host, tmp_path: Path, long_debate: tuple[Path, str, str]
) -> None:
    calls = [*WRONG, SECOND_OPINION]
    database, debate_id, transcript = long_debate
    shutil.copyfile(database, tmp_path / "debates.db")
    assert len(transcript) > LONG_TURN * TURNS

    def script(shown: Sequence[str]) -> ToolCall | str:
        """Of the transcript, go on as the model would: by what the last page says."""
        if len(shown) < len(calls):
            return ToolCall("start_debate", calls[len(shown)])
        if len(shown) == len(calls):
            return ToolCall("read_debate", {"debate_id": debate_id})
        following = re.search(r"read_debate\(.*?offset=(\d+)\)", shown[-1])
        if following is None or len(shown) > len(calls) + 9:
            return "The last words."
        return ToolCall("read_debate", {"debate_id": debate_id, "offset": int(following[1])})

    record = talk(host, tmp_path, script)
    shown = record.shown

    missing = [
        told
        for told, text in zip(TOLD, shown, strict=False)
        if told.replace("\\", "") not in text.replace("\\", "")
    ]
    assert missing == []
    cost = ANSWERS * Decimal(PRICE_USD)
    counts = [f"Leaning ({len(JUDGES) - 1} of {len(JUDGES)} judges", f"${cost.normalize()}"]
    if host.shows == "data":
        votes = [f"({judge}): {'Ben' if judge == DISSENTER else 'Ada'}, margin 2" for judge in JUDGES]
        counts = ['"winner":"Ada"', *votes, f"{cost}"]
    facts = [*counts, "A quokka verdict.", "A numbat reason.", "An ibex verdict."]
    assert [fact for fact in facts if fact not in shown[len(WRONG)]] == []

    pages = [read_page(host, page) for page in shown[len(calls) :]]
    assert len(pages) > 1
    assert "".join(pages).endswith(transcript)  # behind a line that another installation recorded it

    if host.has_commands:  # it passes on the first word alone; the model is told where the rest of it stands
        asked = ("I want a second opinion on this question", "all that I wrote after the command", ASKED)
        assert [part for part in asked if part not in record.instructions] == []
