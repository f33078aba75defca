import asyncio
import logging
import re
from collections import deque

import anyio
import pytest

from server.models import ModelError, Reply, Request
from server.models.providers.errors import MAX_DETAIL_LENGTH
from server.models.providers.litellm import LitellmModel, import_litellm
from server.models.providers.model import ProviderModel, build_extras
from tests.contract import model as contract
from tests.support.patience import PATIENCE
from tests.support.provider.stub import ERROR_RESPONSES, Stub
from tests.support.provider_models import Ask

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("B7", "D9")]

KEY = "sk-test-0123456789abcdef"  # as in conftest.py


class Waits(list[float]):
    """Waits no time, and remembers how long it would have been."""

    async def pause(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def waits() -> Waits:
    return Waits()


async def ask(model: ProviderModel, request: Request | None = None, *, stream: bool = False) -> Reply:
    request = request or contract.build_argument_request()
    return await contract.reply_in_time(model, request, (lambda _: None) if stream else None)


async def failure_of(
    model: ProviderModel, request: Request | None = None, *, stream: bool = False
) -> ModelError:
    with pytest.raises(ModelError) as failure:
        await ask(model, request, stream=stream)
    return failure.value


class TestContract(contract.ModelContract):
    @pytest.fixture
    def model(self, through: Ask) -> ProviderModel:
        return through()

    @pytest.fixture(params=["whole", "streamed"])
    def endless(self, through: Ask, stub: Stub, request: pytest.FixtureRequest) -> contract.EndlessModel:
        async def started() -> None:
            await stub.wait_until(in_flight=1)

        heard = None if request.param == "whole" else lambda _: None
        return contract.EndlessModel(through("hang"), started, heard)


async def test_what_is_sent_is_what_the_prompt_says_and_no_temperature(through: Ask, stub: Stub) -> None:
    request = contract.build_argument_request()
    await contract.reply_in_time(through(), request)

    body = stub.requests[0].body
    assert body == {
        "model": "stub",
        "messages": [{"role": m.role, "content": m.content} for m in request.prompt.messages],
        "max_tokens": 600,
    }


async def test_tokens_are_counted_as_the_provider_counts_them(through: Ask) -> None:
    for stream in (False, True):
        usage = (await ask(through(), stream=stream)).usage

        words = sum(
            len(message.content.split()) for message in contract.build_argument_request().prompt.messages
        )
        assert (usage.input_tokens, usage.cached_tokens) == (words, words // 2)
        assert usage.output_tokens == 60
        assert usage.reply_id == "chatcmpl-stub"


async def test_a_known_price_is_a_decimal_and_an_unknown_one_is_empty(through: Ask) -> None:
    unknown = await ask(through())
    known = await ask(through("gpt-5.4-mini"))
    streamed = await contract.reply_in_time(
        through("gpt-5.4-mini"), contract.build_argument_request(), lambda _: None
    )

    assert unknown.usage.cost_usd == ""
    assert 0 < float(known.usage.cost_usd) < 0.01
    assert known.usage.cost_usd == streamed.usage.cost_usd


@pytest.mark.parametrize(
    ("reported", "named"),
    [
        ("stub-2026-11-01", "openai/stub-2026-11-01"),
        ("stub\x1b[2J\n\ud800 of today " + "x" * 500, "openai/stub ? of today ".ljust(200, "x")),
    ],
)
async def test_the_model_that_answered_is_named_in_a_line(
    through: Ask, stub: Stub, reported: str, named: str
) -> None:
    stub.reported_model = reported

    assert (await ask(through())).usage.model == named


async def test_a_schema_is_sent_without_bounds_unless_a_model_is_known_not_to_take_it(
    through: Ask, stub: Stub
) -> None:
    await ask(through(), contract.build_judgment_request())
    await ask(through("gpt-5.4-mini"), contract.build_judgment_request())

    unknown, sent = (asked.body.get("response_format") for asked in stub.requests)
    assert unknown == sent
    assert build_extras("oci/meta.llama-3.3-70b-instruct", contract.build_judgment_request()) == {}
    schema = sent["json_schema"]["schema"]
    assert sent["json_schema"]["strict"]
    assert schema["properties"]["reasoning"] == {"type": "string"}
    assert schema["properties"]["winner"] == contract.SCHEMA["properties"]["winner"]
    assert schema["required"] == contract.SCHEMA["required"]


@pytest.mark.parametrize(
    ("scenario", "cut", "stream"),
    [("empty", False, False), ("empty", False, True), ("truncated", True, True), ("prose", False, False)],
)
async def test_an_answer_of_any_kind_comes_through_and_says_whether_it_was_cut(
    through: Ask, scenario: str, cut: bool, stream: bool
) -> None:
    reply = await ask(through(scenario), stream=stream)

    assert (reply.text == "") == (scenario == "empty")
    assert reply.cut == cut
    assert reply.usage.input_tokens > 0


@pytest.mark.parametrize(
    ("retry_after", "waited", "attempts"), [("11", [11, 11], 3), ("3600", [], 1)], ids=["short", "too long"]
)
async def test_the_provider_says_how_long_to_wait_and_a_wait_that_would_be_too_long_is_not_begun(
    through: Ask, stub: Stub, waits: Waits, retry_after: str, waited: list[float], attempts: int
) -> None:
    stub.retry_after = retry_after

    failure = await failure_of(through("429", sleep=waits.pause))

    assert (failure.cause, failure.attempts, waits) == ("rate_limited", attempts, waited)


@pytest.mark.parametrize(
    ("scenario", "cause", "requests", "stream"),
    [
        ("400", "bad_request", 1, False),
        ("401", "unauthorized", 1, True),
        ("context", "too_long", 1, False),
        ("filtered", "refused", 1, True),
        ("filtered", "refused", 1, False),
        ("429", "rate_limited", 3, False),
        ("500", "unavailable", 3, True),
        ("reset", "unavailable", 3, False),
        ("reset", "unavailable", 3, True),
    ],
)
async def test_what_may_pass_is_tried_three_times_and_the_rest_once(
    through: Ask, stub: Stub, waits: Waits, scenario: str, cause: str, requests: int, stream: bool
) -> None:
    failure = await failure_of(through(scenario, sleep=waits.pause), stream=stream)

    assert (failure.cause, failure.attempts, len(stub.chat_requests)) == (cause, requests, requests)
    assert failure.detail.startswith(f"openai/{scenario}: ")
    assert (f"the key in OPENAI_API_KEY (HTTP {scenario})" in failure.detail) == (cause == "unauthorized")
    assert len(failure.detail) <= MAX_DETAIL_LENGTH
    assert "Traceback" not in failure.detail
    assert len(waits) == requests - 1


async def test_an_answer_that_breaks_off_is_asked_for_again_and_told_once(
    through: Ask, stub: Stub, waits: Waits
) -> None:
    stub.queue = deque(["broken", ""])
    pieces: list[str] = []

    reply = await contract.reply_in_time(
        through("stub", sleep=waits.pause), contract.build_argument_request(), pieces.append
    )

    assert reply.usage.attempts == 2
    assert reply.text.startswith("".join(pieces))
    assert 0 < len("".join(pieces)) < len(reply.text)


@pytest.mark.parametrize("scenario", ["hang", "stall"])
async def test_a_provider_that_stops_is_left_when_the_time_is_up(
    through: Ask, stub: Stub, scenario: str
) -> None:
    import_litellm()
    failure = await failure_of(through(scenario), contract.build_argument_request(timeout=1), stream=True)

    assert failure.cause == "timeout"
    await stub.wait_until(abandoned=1)


@pytest.mark.parametrize("scenario", ["hang", "stall"], ids=["before", "in the middle"])
async def test_cancelling_an_answer_hangs_up(through: Ask, stub: Stub, scenario: str) -> None:
    heard = asyncio.Event()
    model = through(scenario)
    task = asyncio.create_task(model.reply(contract.build_argument_request(), lambda _: heard.set()))
    with anyio.fail_after(PATIENCE):
        await (stub.wait_until(in_flight=1) if scenario == "hang" else heard.wait())
        task.cancel()
        await stub.wait_until(abandoned=1)
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_server_that_is_not_there_is_unavailable(through: Ask, waits: Waits) -> None:
    model = through(base="http://127.0.0.1:9/v1", sleep=waits.pause)

    assert (await failure_of(model)).cause == "unavailable"


@pytest.mark.parametrize(
    ("name", "variable"),
    [("openai/gpt-5.4-mini", "OPENAI_API_KEY"), ("anthropic/claude-sonnet-5-5", "ANTHROPIC_API_KEY")],
)
async def test_a_missing_key_is_named(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, name: str, variable: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")

    failure = await failure_of(LitellmModel(name))

    assert (failure.cause, failure.attempts) == ("unauthorized", 1)
    assert f"Set {variable}" in failure.detail
    assert stub.requests == []


@pytest.mark.usefixtures("stub")
async def test_a_model_of_no_provider_is_a_bad_request() -> None:
    failure = await failure_of(LitellmModel("nonsense"))

    assert failure.cause == "bad_request"
    assert "LLM Provider NOT provided" in failure.detail


@pytest.mark.full
@pytest.mark.parametrize(("key", "stream"), [(KEY, False), ("a private pass phrase", True)])
async def test_a_key_never_shows(
    through: Ask,
    stub: Stub,
    key: str,
    stream: bool,
    waits: Waits,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    caplog.set_level(logging.DEBUG)
    stub.echo_key = True
    details = [
        (await failure_of(through(scenario, sleep=waits.pause), stream=stream)).detail
        for scenario in [*ERROR_RESPONSES, "reset"]
    ]
    assert stub.requests[0].headers["authorization"] == f"Bearer {key}"
    shown = capfd.readouterr()

    assert shown.out == ""
    for told in (*details, shown.err, *(record.getMessage() for record in caplog.records)):
        assert key not in told
        assert "sk-test" not in told


@pytest.mark.parametrize("base", ["", "https://api.example.com/v1", "http://127.0.0.1.example.com/v1"])
async def test_offline_only_this_machine_is_asked(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", base)
    failure = await failure_of(LitellmModel("openai/gpt-5.4-mini"))

    assert failure.cause == "bad_request"
    assert "COUNTERPOINT_OFFLINE" in failure.detail


@pytest.mark.full
@pytest.mark.requirement("N8")
@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_of_a_gigabyte_is_given_up_after_a_few_megabytes(
    through: Ask, stub: Stub, waits: Waits, stream: bool
) -> None:
    failure = await failure_of(through("flood", sleep=waits.pause), stream=stream)

    assert failure.cause == "unreadable"
    assert re.search("The answer has more than (8|32),000,000 bytes", failure.detail)
    assert stub.flooded < 50_000_000  # what the buffers of the connection hold, included
    assert len(stub.chat_requests) == 1
