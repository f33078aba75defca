"""What a provider says comes out of JSON that somebody else wrote: it is no fault of ours."""

from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from server.models.providers import response
from server.models.providers.litellm import import_litellm, look_up_litellm_cost
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D3", "B7")]


@pytest.mark.parametrize("choices", [[], None])
def test_an_answer_without_choices_says_nothing(choices: object) -> None:
    answer = response.read_completion(SimpleNamespace(choices=choices, model="m", usage=None))

    assert (answer.text, answer.function_calls, answer.model) == ("", (), "m")


class Endless:
    """A stream of a provider that never stops."""

    closed = False

    def __aiter__(self) -> "Endless":
        return self

    async def __anext__(self) -> Any:
        await anyio.lowlevel.checkpoint()
        delta = SimpleNamespace(content="and so on, " * 1000, tool_calls=None)
        choice = SimpleNamespace(delta=delta, finish_reason=None)
        return SimpleNamespace(model="m", usage=None, choices=[choice])

    async def aclose(self) -> None:
        self.closed = True


async def test_a_stream_without_end_is_left_after_a_million_characters() -> None:
    stream, read = Endless(), 0

    def on_text(piece: str) -> None:
        nonlocal read
        read += len(piece)

    with anyio.fail_after(PATIENCE):
        answer = await response.read_stream(stream, on_text)

    assert response.MAX_TEXT_LENGTH <= len(answer.text) == read < response.MAX_TEXT_LENGTH + 20_000
    assert (answer.finish_reason, stream.closed) == ("length", True)


@pytest.mark.parametrize(("told", "kept"), [(7, 7), (-7, 0), (10**30, 10**9), ("7", 0), (True, 0), (None, 0)])
def test_a_count_that_is_no_count_is_none(told: object, kept: int) -> None:
    counts = SimpleNamespace(
        prompt_tokens=told, completion_tokens=told, prompt_tokens_details=SimpleNamespace(cached_tokens=told)
    )
    answer = response.Completion(["Yes."], "stop", "stub", counts)

    usage = response.build_usage("openai/stub", answer)

    assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens) == (kept, kept, kept)


@pytest.mark.parametrize("tokens", [-5, 10**30])
def test_a_price_that_cannot_be_is_unknown(tokens: int) -> None:
    litellm = import_litellm()
    counts = litellm.Usage(prompt_tokens=tokens, completion_tokens=tokens)

    assert look_up_litellm_cost(litellm, "openai/gpt-5.4-mini", counts) == ""
