"""A PDF in a whole debate over stdio: its pages are numbered, and a quote is found on its page."""

import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from server.research.documents import read_document
from tests.research.test_documents import write_pdf
from tests.support.client_calls import call
from tests.support.paths import ROOT

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D15", "D28")]

QUOTES = ("the office was closed for 7 weeks in all", "the office was closed for 8 months in all")
TURN = "\n".join(f"[{n}] “{quote}” (doc 1)." for n, quote in enumerate(QUOTES, start=1))


@pytest.mark.full
async def test_a_quote_of_a_pdf_is_checked_with_its_page(tmp_path: Path) -> None:
    pages = [f"On page {n} the office was closed for {n} weeks in all." for n in range(1, 13)]
    found: Any = read_document(write_pdf(tmp_path / "x.pdf", pages))
    text = found if isinstance(found, str) else found.text
    environment = {"COUNTERPOINT_OFFLINE": "1", "COUNTERPOINT_DB": str(tmp_path / "debates.db")}
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "counterpoint"], env=environment, cwd=ROOT
    )
    debaters = [
        {"name": "Me", "stance": "yes", "model": "caller"},
        {"name": "Model", "stance": "no", "model": "scripted"},
    ]
    async with Client(server) as client:
        asked = {"question": "Was it closed?", "format": "verdict", "max_rounds": 1, "models": ["scripted"]}
        documents = [{"title": "x.pdf", "text": text}]
        step = await call(client, "start_debate", **asked, debaters=debaters, documents=documents, run=True)
        debate_id = step["debate_id"]
        while step["status"] in ("ready", "running", "waiting"):
            if step["status"] == "waiting":
                step = await call(client, "submit_turn", debate_id=debate_id, speaker="Me", text=TURN)
            else:
                step = await call(client, "step_round", debate_id=debate_id)
        analysis = await call(client, "read_debate", debate_id=debate_id, view="analysis")
    rows = {row["point"]: row for row in analysis["data"]["evidence"]}
    assert [rows[point]["level"] for point in ("Me 1.1", "Me 1.2")] == ["MEDIUM", "LOW"]
    assert (rows["Me 1.1"]["quotes"][0]["mark"], rows["Me 1.1"]["quotes"][0]["place"]) == (
        "[checked]",
        "page 7",
    )
