"""Debates over HTTP by the SDK's own client, in both eras, with sessions and without."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.types import ElicitRequestFormParams, ElicitResult

from tests.support.client_calls import call, read_resource
from tests.support.client_models import ClientModel
from tests.support.http_servers import serve_http
from tests.support.mcp_debates import run_debate
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14", "M1", "M4")]

MODES = pytest.mark.parametrize("is_stateless", [False, True], ids=["sessions", "stateless"])
PAIRS = pytest.mark.parametrize(("era", "is_stateless"), [("legacy", False), ("auto", True)])
"""Each era and each mode once: the newer era has no sessions."""
WAYS = pytest.mark.parametrize(("era", "is_stateless"), [("legacy", False), ("legacy", True), ("auto", True)])


@PAIRS
async def test_a_debate_is_held_read_and_found(tmp_path: Path, era: str, is_stateless: bool) -> None:
    reports: list[str] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        reports.append(f"{progress} {total} {message}")

    async with (
        serve_http(str(tmp_path / "a.db"), is_stateless=is_stateless) as running,
        running.connect(era) as client,
    ):
        asked = {"question": "Ship it?", "run": True, "options": {"framing": False}}
        ran = await client.call_tool("start_debate", asked, progress_callback=report)
        debate_id = (ran.structured_content or {})["debate_id"]
        verdict = await call(client, "get_verdict", debate_id=debate_id)
        transcript = await read_resource(client, f"debate://{debate_id}/transcript")
        listed = (await client.list_resources()).resources
        prompts = (await client.list_prompts()).prompts

    assert verdict["status"] == "concluded"
    assert any("None" not in one for one in reports)
    assert "Ship it?" in transcript
    assert f"debate://{debate_id}/transcript" in [str(one.uri) for one in listed]
    assert "second_opinion" in [one.name for one in prompts]


async def hear(client: Client, uri: str, act: Any) -> str:
    async with client.listen(resource_subscriptions=[uri]) as updates:
        await act()
        async for update in updates:
            return str(update.uri)  # type: ignore[union-attr]  # only resources were asked for
    raise AssertionError("the stream of updates ended")


@pytest.mark.requirement("N8")
@MODES
async def test_a_listener_hears_of_turns_in_the_newer_era_with_and_without_sessions(
    tmp_path: Path, is_stateless: bool
) -> None:
    async with (
        serve_http(str(tmp_path / "a.db"), is_stateless=is_stateless) as running,
        running.connect() as client,
        running.connect() as other,
    ):
        debate_id = (await call(client, "start_debate", question="Ship it?"))["debate_id"]
        uri = f"debate://{debate_id}/transcript"
        with anyio.fail_after(PATIENCE):
            step = lambda: call(other, "step_round", debate_id=debate_id)  # noqa: E731
            assert await hear(client, uri, step) == uri


@WAYS
async def test_the_clients_own_model_is_asked_where_the_mode_carries_it(
    tmp_path: Path, era: str, is_stateless: bool
) -> None:
    model = ClientModel()
    asked = {
        "question": "When?",
        "debaters": [{"name": "Ada", "stance": "now"}, {"name": "Ben", "stance": "later"}],
        "run": True,
        "options": {"ballots": "none"},
    }
    async with (
        serve_http(str(tmp_path / "a.db"), default="client", is_stateless=is_stateless) as running,
        running.connect(era, sampling_callback=model) as client,
    ):
        if is_stateless and era == "legacy":
            refused = await client.call_tool("start_debate", asked)
            assert refused.is_error
            assert not model.prompts
        else:
            assert (await call(client, "start_debate", **asked))["status"] == "concluded"
            assert model.prompts


@WAYS
async def test_a_person_is_asked_where_the_mode_carries_it(
    tmp_path: Path, era: str, is_stateless: bool
) -> None:
    forms: list[ElicitRequestFormParams] = []

    async def answer(_: Any, form: ElicitRequestFormParams) -> ElicitResult:
        forms.append(form)
        return ElicitResult(action="accept", content={"text": f"Reason {len(forms)}."})

    sides = [
        {"name": "Me", "stance": "yes", "model": "human"},
        {"name": "Bot", "stance": "no", "model": "scripted"},
    ]
    asked = {"debaters": sides, "options": {"ballots": "none", "judges": {"models": ["scripted"]}}}
    async with (
        serve_http(str(tmp_path / "a.db"), is_stateless=is_stateless) as running,
        running.connect(era, elicitation_callback=answer) as client,
    ):
        ran = await run_debate(client, **asked, wait_seconds=5)
    if is_stateless and era == "legacy":
        assert (ran["status"], forms) == ("waiting", [])
    else:
        assert ran["status"] == "concluded"
        assert len(forms) == 2
