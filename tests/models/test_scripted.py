import json
from time import perf_counter

import anyio
import pytest

from server.models import ModelError, Request
from server.models.scripted import ScriptedModel, argument
from tests.contract.model import Endless, ModelContract, argue, bounded, judge

pytestmark = pytest.mark.requirement("N7")


class TestContract(ModelContract):
    @pytest.fixture
    def model(self) -> ScriptedModel:
        return ScriptedModel()

    @pytest.fixture
    def endless(self) -> Endless:
        started = anyio.Event()

        async def forever(_: Request) -> str:
            started.set()
            await anyio.sleep_forever()
            raise AssertionError

        return Endless(ScriptedModel(forever), started.wait)


@pytest.mark.asyncio
async def test_the_same_question_is_answered_alike_and_another_otherwise() -> None:
    model = ScriptedModel()

    first, again, otherwise = [
        (await bounded(model, request)).text
        for request in (argue(), argue(), argue(opponent="It does not scale."))
    ]

    assert first == again != otherwise
    assert "SQLite" in first
    assert "It does not scale." in otherwise
    assert 60 <= len(first.split()) <= 120


@pytest.mark.asyncio
async def test_a_judge_finds_for_the_same_letter_in_both_orders() -> None:
    model = ScriptedModel()

    first = json.loads((await bounded(model, judge(reading=1))).text)
    second = json.loads((await bounded(model, judge(reading=2, seed=99))).text)

    assert first["winner"] == second["winner"] in ("A", "B")


@pytest.mark.requirement("A4")
@pytest.mark.asyncio
async def test_a_script_of_your_own_is_followed_and_what_was_asked_is_kept() -> None:
    def script(request: Request) -> str:
        if request.seat == "A":
            raise ModelError("refused", "scripted: not today.")
        return f"{request.seat} speaks."

    model = ScriptedModel(script, name="mine")

    reply = await bounded(model, argue("B"))
    with pytest.raises(ModelError, match="not today"):
        await model.reply(argue("A"))

    assert reply.text == "B speaks."
    assert reply.usage.model == "mine"
    assert [request.seat for request in model.asked] == ["B", "A"]


@pytest.mark.asyncio
async def test_a_model_of_the_product_keeps_nothing_of_what_it_was_asked() -> None:
    model = ScriptedModel.from_name("scripted")

    await bounded(model, argue())

    assert model.asked == []


@pytest.mark.parametrize("chars", [1, 2, 40, 1200, 1_000_000])
@pytest.mark.asyncio
async def test_an_argument_has_the_length_asked_for(chars: int) -> None:
    reply = await bounded(ScriptedModel.from_name(f"scripted?chars={chars}"), argue())

    assert len(reply.text) == chars


def test_a_long_argument_takes_no_more_time_for_each_sentence_than_a_short_one() -> None:
    def seconds(chars: int) -> float:
        began = perf_counter()
        argument(argue(), chars)
        return perf_counter() - began

    seconds(1000)

    # Ten times the length: were each sentence to count those before it, a hundred times the time.
    assert min(seconds(1_000_000) for _ in range(3)) < 50 * min(seconds(100_000) for _ in range(3))


@pytest.mark.asyncio
async def test_a_delay_longer_than_the_time_allowed_is_a_timeout() -> None:
    model = ScriptedModel.from_name("scripted?delay=3600")

    with anyio.fail_after(5), pytest.raises(ModelError) as failure:
        await model.reply(argue(timeout=0.01))

    assert failure.value.cause == "timeout"


@pytest.mark.parametrize(
    ("name", "delay", "chars"),
    [
        ("scripted", 0, 0),
        ("scripted?", 0, 0),
        ("scripted?chars=5", 0, 5),
        ("scripted?delay=0.2&chars=1200", 0.2, 1200),
    ],
)
def test_parameters_are_read_from_the_name(name: str, delay: float, chars: int) -> None:
    model = ScriptedModel.from_name(name)

    assert (model.name, model.delay, model.chars) == (name, delay, chars)


@pytest.mark.parametrize(
    "query",
    [
        "speed=1",
        "delay=fast",
        "delay=-1",
        "delay=nan",
        "chars=1.5",
        "chars=-1",
        "delay",
        "delay=",
        "chars=1000001",
    ],
)
def test_a_parameter_that_means_nothing_is_refused(query: str) -> None:
    with pytest.raises(ValueError, match=r"is not understood.*delay=0\.2&chars=1200"):
        ScriptedModel.from_name(f"scripted?{query}")
