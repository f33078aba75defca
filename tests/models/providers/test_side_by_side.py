"""The direct path and the one through litellm, asked the same of the same provider: nobody can tell them apart."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.stub import ERROR_RESPONSES, RAW_RESPONSES, Stub
from server.compose import open_manager
from server.debate.commands.requests import DebateRequest
from server.engine.transfer import export_debate
from server.models import Model, ModelError, Request
from server.models.providers.connections import Connections
from server.models.providers.direct import OpenAIModel
from server.models.providers.endpoints import find_endpoint
from server.models.providers.litellm import LitellmModel
from server.models.providers.model import ProviderModel
from server.settings import Settings
from tests.contract.model import build_argument_request, build_judgment_request, reply_in_time

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N22", "B7", "D9", "N10")]

MASKED = ("at", "hash", "previous", "debate_id", "id", "milliseconds", "exported_at", "receipt")
BROKEN = ("openai/reset", "openai/broken")
PRICED = "gpt-5.4-mini"  # reasons, has a price and a window


async def no_wait(_seconds: float) -> None:
    """Pauses between retries are measured elsewhere."""


def build_pair(stub: Stub, connections: Connections, name: str) -> tuple[ProviderModel, ProviderModel]:
    endpoint = find_endpoint(f"openai/{name}", stub.url)
    assert endpoint is not None
    direct = OpenAIModel(f"openai/{name}", sleep=no_wait, endpoint=endpoint, connections=connections)
    return direct, LitellmModel(f"openai/{name}", api_base=stub.url, sleep=no_wait)


async def tell(model: ProviderModel, request: Request, *, stream: bool) -> dict[str, Any]:
    """All that is known of an answer, or of its failure, but how long it took."""
    pieces: list[str] = []
    try:
        reply = await reply_in_time(model, request, pieces.append if stream else None)
    except ModelError as error:
        # Where the connection broke, what is quoted are the words of the client.
        detail = error.detail.partition(" It said")[0] if model.name in BROKEN else error.detail
        return {"cause": error.cause, "detail": detail, "attempts": error.attempts}
    # litellm invents an id for an answer without one.
    changes = {"milliseconds": 0} | ({"reply_id": ""} if model.name == "openai/malformed" else {})
    usage = reply.usage.model_copy(update=changes)
    return {
        "text": reply.text,
        "streamed": "".join(pieces),
        "cut": reply.cut,
        "calls": reply.function_calls,
        "usage": usage.model_dump(),
    }


@pytest.mark.full
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    "scenario",
    [
        *ERROR_RESPONSES,
        *RAW_RESPONSES,
        *("reset", "broken", "empty", "stopped", "truncated", "prose", "huge", "plain", PRICED),
    ],
)
async def test_both_tell_the_same_of_every_answer_and_failure(
    stub: Stub, connections: Connections, scenario: str, stream: bool
) -> None:
    for request in (build_argument_request(), build_judgment_request()):
        told = []
        for model in build_pair(stub, connections, scenario):
            stub.requests.clear()
            told.append((await tell(model, request, stream=stream), len(stub.chat_requests)))

        assert told[0] == told[1]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", ["stub", PRICED])
async def test_both_send_the_same(stub: Stub, connections: Connections, name: str, stream: bool) -> None:
    for request in (build_argument_request(), build_judgment_request()):
        stub.requests.clear()
        for model in build_pair(stub, connections, name):
            await tell(model, request, stream=stream)

        direct, litellm = (chat.body for chat in stub.chat_requests)
        assert direct == litellm


@pytest.mark.full
async def test_a_debate_records_the_same_facts_by_either_way(
    stub: Stub, connections: Connections, tmp_path: Path
) -> None:
    records = []
    for number, model in enumerate(build_pair(stub, connections, PRICED)):
        models: Mapping[str, Model] = {"seat": model}
        settings = Settings(db=str(tmp_path / f"{number}.db"))
        async with open_manager(settings, models, environ={}) as manager:
            request = DebateRequest.model_validate(
                {
                    "question": "Ship it?",
                    "debaters": [{"name": name, "stance": name} for name in ("Ada", "Ben")],
                    "models": ["seat"],
                    "max_rounds": 2,
                    "options": {"seed": 1},
                    "run": True,
                }
            )
            snapshot = await manager.follow((await manager.start(request, actor="test")).id, wait=30)
            assert snapshot.status == "concluded"
            records.append(mask(await export_debate(manager, snapshot.id)))

    # Answers of a round are recorded as they arrive.
    direct, litellm = (
        sorted(json.dumps(entry["body"], sort_keys=True) for entry in record["entries"]) for record in records
    )
    assert direct == litellm
    assert "cost_usd" in str(records[0])


def mask(record: Any) -> Any:
    """The record without ids, times and what is computed from them."""
    if isinstance(record, dict):
        return {key: mask(part) for key, part in record.items() if key not in MASKED}
    return [mask(part) for part in record] if isinstance(record, list) else record
