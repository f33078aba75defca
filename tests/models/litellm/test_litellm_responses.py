"""What a provider says that an answer took: it comes out of JSON that somebody else wrote."""

from types import SimpleNamespace

import pytest

from benchmarks.stub import Stub
from server.models.litellm.client import LitellmModel, import_litellm
from server.models.litellm.response import Completion, build_reply, compute_reply_cost
from tests.contract.model import build_argument_request, reply_in_time

pytestmark = [
    pytest.mark.requirement("B7"),
    pytest.mark.usefixtures("litellm_used"),
    # As in test_litellm_model.py: litellm sets these when it is imported, and pytest takes them back.
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier"),
    pytest.mark.filterwarnings("ignore:.*conflict with protected namespace"),
    pytest.mark.filterwarnings("ignore:.*Accessing the.*attribute on the instance is deprecated"),
]


@pytest.mark.asyncio
async def test_the_name_a_provider_gives_is_one_clean_line_of_some_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    async with Stub(reported_model="stub\x1b[2J\n\ud800 of today " + "x" * 500) as stub:
        model = (
            await reply_in_time(LitellmModel("openai/stub", api_base=stub.url), build_argument_request())
        ).usage.model

    assert model.startswith("openai/stub [2J ? of today xxx")
    assert len(model) == 200


@pytest.mark.parametrize(
    ("told", "kept"),
    [(7, 7), (-7, 0), (10**30, 2**53 - 1), ("7", 0), (7.5, 0), (True, 0), (None, 0)],
)
@pytest.mark.asyncio
async def test_a_count_that_is_no_count_is_none(told: object, kept: int) -> None:
    counts = SimpleNamespace(
        prompt_tokens=told,
        completion_tokens=told,
        prompt_tokens_details=SimpleNamespace(cached_tokens=told),
    )
    answer = Completion(["Yes."], "stop", "stub", counts)

    usage = build_reply(import_litellm(), "openai/stub", answer).usage

    assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens) == (kept, kept, kept)
    assert usage.cost_usd == ""


@pytest.mark.parametrize("tokens", [-5, 10**30])
def test_a_price_that_cannot_be_is_unknown(tokens: int) -> None:
    litellm = import_litellm()
    counts = litellm.Usage(prompt_tokens=tokens, completion_tokens=tokens)

    assert compute_reply_cost(litellm, "openai/gpt-5.4-mini", counts) == ""
