"""Contract of every model.

A model's tests inherit `ModelContract` and provide the fixtures `model` and `endless`.
"""

import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

import anyio
import pytest

from server.debate.prompts.response_schemas import judgment_schema
from server.debate.prompts.wording import COMMON_RULES
from server.models import Function, Message, Model, ModelError, OnText, Prompt, PromptSummary, Reply, Request
from tests.support.patience import PATIENCE

QUESTION = "Should a small team use PostgreSQL or SQLite for an internal tool?"
POSITIONS = (("W45", "PostgreSQL"), ("K73", "SQLite"))
PREAMBLE = f"# Question\n> {QUESTION}\n\n# Positions\n> W45. PostgreSQL\n> K73. SQLite"
SCHEMA = judgment_schema(("W45", "K73"))


def build_argument_request(
    stance: str = "SQLite", *, opponent: str = "", timeout: float = PATIENCE, seed: int = 7
) -> Request:
    summary = PromptSummary("argument", QUESTION, 2 if opponent else 1, stance, opponent)
    quoted = f"\n\n# Round 1: opening\n[A: PostgreSQL]\n> {opponent}" if opponent else ""
    user = f"{PREAMBLE}{quoted}\n\nYou are K73. Speak."
    prompt = Prompt((Message("system", COMMON_RULES), Message("user", user)), summary)
    return Request(prompt, seat=stance, max_tokens=600, timeout=timeout, seed=seed)


def build_judgment_request(*, reading: int = 1, seed: int = 7) -> Request:
    positions = POSITIONS if reading == 1 else POSITIONS[::-1]
    user = f"# Question\n> {QUESTION}\n\n# Positions\n> W45. PostgreSQL\n> K73. SQLite\n\nYou are a judge."
    messages = (Message("system", COMMON_RULES), Message("user", user))
    prompt = Prompt(messages, PromptSummary("judgment", QUESTION, 3, positions=positions), SCHEMA)
    return Request(prompt, seat="judge 1", max_tokens=900, timeout=PATIENCE, seed=seed)


@dataclass
class EndlessModel:
    """A model that does not finish by itself; `wait_until_started` returns once it has begun a reply."""

    model: Model
    wait_until_started: Callable[[], Awaitable[object]]
    on_text: OnText | None = None


def build_endless_model(build: Callable[[Callable[[Request], Awaitable[str]]], Model]) -> EndlessModel:
    """What `build` makes of a script that does not end."""
    started = anyio.Event()

    async def run_forever(_: Request) -> str:
        started.set()
        await anyio.sleep_forever()
        raise AssertionError

    return EndlessModel(build(run_forever), started.wait)


@pytest.mark.requirement("N7")
class ModelContract:
    has_informative_judgments = True

    @pytest.fixture(autouse=True)
    def check_stdout(self, capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
        """Nothing is written to standard output, which belongs to the protocol."""
        yield
        assert capfd.readouterr().out == ""

    async def test_an_argument_comes_with_its_usage(self, model: Model) -> None:
        reply = await reply_in_time(model, build_argument_request())

        assert reply.text.strip()
        assert not reply.cut
        assert reply.usage.model
        assert reply.usage.input_tokens > 0
        assert reply.usage.output_tokens > 0
        assert reply.usage.attempts == 1
        assert reply.usage.cost_usd == "" or Decimal(reply.usage.cost_usd) >= 0

    async def test_streamed_pieces_are_the_text_of_the_reply(self, model: Model) -> None:
        pieces: list[str] = []

        reply = await reply_in_time(
            model, build_argument_request(opponent="PostgreSQL scales further."), pieces.append
        )

        assert len(pieces) > 1
        assert "".join(pieces).startswith(reply.text)
        assert reply.usage.output_tokens > 0

    async def test_a_judgment_follows_its_schema(self, model: Model) -> None:
        for reading in (1, 2):
            reply = await reply_in_time(model, build_judgment_request(reading=reading))
            assert reply.informative == self.has_informative_judgments
            finding = json.loads(reply.text)
            assert finding.keys() == set(SCHEMA["required"])
            assert finding["winner"] in ("W45", "K73", None)
            assert finding["beliefs"].keys() == {"W45", "K73", "none"}
            assert 0 < len(finding["reasoning"]) <= 2000
            assert 0 < len(finding["verdict"]) <= 600

    async def test_a_model_with_functions_answers_or_calls_one_of_them(self, model: Model) -> None:
        search = Function("web__search", "Searches the web.", {"type": "object", "properties": {}})

        reply = await reply_in_time(model, replace(build_argument_request(), functions=(search,)))

        assert reply.text.strip() or reply.function_calls
        for call in reply.function_calls:
            assert call.name == "web__search"
            assert isinstance(json.loads(call.arguments), dict)

    @pytest.mark.requirement("D9")
    async def test_no_reply_in_time_is_a_timeout(self, endless: EndlessModel) -> None:
        with anyio.fail_after(PATIENCE), pytest.raises(ModelError) as failure:
            await endless.model.reply(build_argument_request(timeout=0.05))

        assert failure.value.cause == "timeout"
        assert "0.05 seconds" in failure.value.detail

    async def test_after_a_cancelled_request_comes_another(self, model: Model, endless: EndlessModel) -> None:
        replies: list[Reply] = []

        async def send_request() -> None:
            replies.append(await endless.model.reply(build_argument_request(timeout=600), endless.on_text))

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(send_request)
                await endless.wait_until_started()
                tasks.cancel_scope.cancel()
            reply = await model.reply(build_argument_request())

        assert replies == []
        assert reply.text

    async def test_concurrent_requests_are_each_answered(self, model: Model) -> None:
        stances = ("PostgreSQL", "SQLite", "for")
        replies: dict[str, str] = {}

        async def send_request(stance: str) -> None:
            replies[stance] = (await model.reply(build_argument_request(stance))).text

        with anyio.fail_after(2 * PATIENCE):
            async with anyio.create_task_group() as tasks:
                for stance in stances:
                    tasks.start_soon(send_request, stance)

        assert replies.keys() == set(stances)
        assert all(replies.values())


async def reply_in_time(model: Model, request: Request | None = None, on_text: OnText | None = None) -> Reply:
    """The reply to a request, an argument unless given."""
    with anyio.fail_after(PATIENCE):
        return await model.reply(request or build_argument_request(), on_text)
