"""A document of some 9,000 tokens for a model behind Ollama: what is said, when, and what is paid."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from server.debate.commands.requests import ChangesInput, DebateRequest
from server.debate.facts.errors import InvalidRequestError
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from tests.support.engines import open_engine
from tests.support.ollama import Ollama
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.requirement("N23"), pytest.mark.usefixtures("litellm_used")]

DOCUMENT = {
    "title": "Minutes",
    "text": "The committee met on Tuesday and found that costs had doubled. " * 580,
}


@pytest_asyncio.fixture
async def ollama(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Ollama]:
    async with Ollama() as ollama:
        monkeypatch.setenv("OLLAMA_API_BASE", ollama.url)
        yield ollama


def open_tiny(folder: Path) -> AbstractAsyncContextManager[DebateManager]:
    """A manager whose debates are all held by one model behind Ollama."""
    return open_engine(folder / "debates.db", default="ollama_chat/tiny")


async def debate_on(
    manager: DebateManager, document: dict[str, str] | None = None, **options: Any
) -> DebateSnapshot:
    documents = [document or DOCUMENT]
    fields = {
        "question": "Build it?",
        "documents": documents,
        "options": {"framing": False, **options},
        "max_rounds": 2,
        "run": True,
    }
    return await manager.start(DebateRequest.model_validate(fields), actor="test")


@pytest.mark.asyncio
async def test_what_does_not_fit_is_refused_before_anything_is_paid_or_recorded(
    ollama: Ollama, tmp_path: Path
) -> None:
    async with open_tiny(tmp_path) as manager:
        with pytest.raises(
            InvalidRequestError, match=r"ollama_chat/tiny reads 2,050 tokens, and \d+,\d+ are needed"
        ):
            await debate_on(manager)

        assert (ollama.shown, ollama.requests) == (["tiny"], [])
        assert await manager.store.find() == []


@pytest.mark.asyncio
async def test_a_model_that_ollama_does_not_have_fails_at_the_start_until_it_is_fetched(
    ollama: Ollama, tmp_path: Path
) -> None:
    ollama.missing.add("tiny")
    short = {"title": "Minutes", "text": "Short."}
    async with open_tiny(tmp_path) as manager:
        with pytest.raises(InvalidRequestError, match=r"has no model tiny\. Fetch it \(ollama pull tiny\)"):
            await debate_on(manager, short)
        assert (ollama.requests, await manager.store.find()) == ([], [])

        ollama.missing.clear()
        snapshot = await debate_on(manager, short)
        assert (await manager.follow(snapshot.id, wait=PATIENCE)).status == "concluded"


@pytest.mark.asyncio
async def test_what_fits_is_read_whole_and_the_window_is_a_fact(ollama: Ollama, tmp_path: Path) -> None:
    async with open_tiny(tmp_path) as manager:
        ollama.context_length = 131_072

        debate = (await manager.follow((await debate_on(manager)).id, wait=PATIENCE)).debate

        assert debate.windows == {"ollama_chat/tiny": 131_072}
        assert debate.verdict is not None
        assert not debate.failures
        assert min(ollama.read) > 9_000
        assert min(body["options"]["num_ctx"] for body in ollama.requests) >= 16_384


@pytest.mark.asyncio
async def test_a_prompt_that_outgrows_the_window_is_not_sent_and_says_why(
    ollama: Ollama, tmp_path: Path
) -> None:
    async with open_tiny(tmp_path) as manager:
        note = {"title": "Note", "text": "Costs had doubled since spring, and nobody knew why. " * 40}
        ollama.context_length = 2_050
        started = await debate_on(manager, note, limits={"max_turn_words": 400})

        debate = (await manager.follow(started.id, wait=PATIENCE)).debate

        failed = [failure for failure in debate.failures if failure.cause == "too_long"]
        assert failed
        assert all("ollama_chat/tiny reads 2,050 tokens, and" in failure.detail for failure in failed)
        assert {(failure.attempts, failure.usage) for failure in failed} == {(0, None)}
        assert len(ollama.requests) == len(debate.usage)
        assert max(ollama.read) < 2_050


@pytest.mark.asyncio
async def test_a_fork_with_a_longer_document_and_a_smaller_model_are_refused_too(
    ollama: Ollama, tmp_path: Path
) -> None:
    async with open_tiny(tmp_path) as manager:
        started = await debate_on(manager, {"title": "Note", "text": "Short."})
        await manager.follow(started.id, wait=PATIENCE)
        asked = len(ollama.requests)
        changes = ChangesInput.model_validate({"documents": [DOCUMENT], "run": True})

        with pytest.raises(InvalidRequestError, match=r"2,050 tokens"):
            await manager.fork(started.id, 1, changes, actor="test")
        assert len(ollama.requests) == asked
