"""Chaos: every fault fires, as often as it was asked for and at the same calls each time, and is named."""

import re
from dataclasses import replace
from typing import Any

import anyio
import pytest

from server.debate.facts.errors import InvalidRequestError
from server.models import Model, ModelError, Request
from server.models.fakes.chaos import CORRUPTIONS, FAILURES, FAULTS, Chaos, Fault, FaultyModel
from server.models.fakes.scripted import ScriptedModel
from server.models.registry import ModelRegistry
from tests.contract import model as contract
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D16")]

ANSWERED: tuple[Fault, ...] = ("corrupt", "truncated", "empty")


def always(fault: str, seed: int = 0, model: Model | None = None) -> FaultyModel:
    return FaultyModel(
        model or ScriptedModel(), Chaos.from_mapping({fault: "1", "seed": str(seed)}), name="mine"
    )


def calls(number: int) -> list[Request]:
    return [contract.build_argument_request(seed=seed) for seed in range(number)]


class TestContractWithoutChaos(contract.ModelContract):
    """A rate of nothing changes nothing."""

    @pytest.fixture
    def model(self) -> FaultyModel:
        return FaultyModel(ScriptedModel(), Chaos())

    @pytest.fixture
    def endless(self) -> contract.EndlessModel:
        return contract.build_endless_model(lambda script: FaultyModel(ScriptedModel(script), Chaos()))


# What is drawn ------------------------------------------------------------------------------------


def test_another_seed_brings_other_faults_and_so_does_another_seat_or_call() -> None:
    half = Chaos(failure=0.5, seed=1)
    met = [half.choose_fault(request) for request in calls(100)]

    assert met != [replace(half, seed=2).choose_fault(request) for request in calls(100)]
    assert met != [half.choose_fault(replace(request, seat="judge 1")) for request in calls(100)]
    assert met != [half.choose_fault(replace(request, seed=request.seed + 1)) for request in calls(100)]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_rate_of_one_is_always_and_of_nothing_never(fault: str) -> None:
    assert {Chaos.from_mapping({fault: "1"}).choose_fault(request) for request in calls(200)} == {fault}
    assert {Chaos.from_mapping({fault: "0"}).choose_fault(request) for request in calls(200)} == {None}


# What it is written like --------------------------------------------------------------------------


def test_a_line_says_what_goes_wrong_and_reads_back_the_same() -> None:
    line = "failure=0.1,timeout=0.05,corrupt=0.1,truncated=0.1,never=0.01,empty=0.05,crash=0.02"
    line += ",latency=0.2,seed=7"

    chaos = Chaos.parse(line)

    assert (chaos.failure, chaos.never, chaos.latency, chaos.seed) == (0.1, 0.01, 0.2, 7)
    assert str(chaos) == line


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("", 'Chaos is written as in "failure=0.1,'),
        ("failure", '"failure" does not fit'),
        ("failure=0.1,failure=0.2", "each word once"),
        ("fire=0.1", 'Chaos knows no "fire". It knows failure, timeout, corrupt'),
        *(
            (f"failure={number}", "failure is a number from 0 to 1")
            for number in ("1.1", "0_1", "nan", "often")
        ),
        ("latency=1e9", "latency is a number from 0 to 3600"),
        ("seed=1.5", "seed is a whole number"),
        ("failure=0.6,crash=0.6", "come to 1.2; 1 is the most"),
    ],
)
def test_a_line_that_means_nothing_is_refused_in_a_sentence(line: str, told: str) -> None:
    with pytest.raises(InvalidRequestError, match=re.escape(told)):
        Chaos.parse(line)


def test_a_model_can_be_faulty_by_its_name() -> None:
    name = "faulty?model=scripted%3Fdelay%3D0.01%26chars%3D50&failure=0.1&seed=7"

    model = ModelRegistry().get(name).model

    assert isinstance(model, FaultyModel)
    assert model.chaos == Chaos(failure=0.1, seed=7)
    assert isinstance(model.model, ScriptedModel)
    assert (model.model.delay, model.model.chars) == (0.01, 50)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("faulty", "is not understood"),
        ("faulty?failure=0.1", "is not understood"),
        ("faulty?model=scripted&model=local", "each word once"),
        ("faulty?model=scripted&failure=2", "failure is a number from 0 to 1"),
        ("faulty?model=scripted%3Fspeed=1", "is not understood"),
        ("faulty?model=caller&failure=0.1", "faults cannot be injected into"),
    ],
)
def test_a_faulty_name_that_leads_nowhere_is_refused_in_a_sentence(name: str, told: str) -> None:
    with pytest.raises(InvalidRequestError, match=re.escape(told)):
        ModelRegistry().get(name)


def test_chaos_of_the_process_befalls_every_model_but_the_caller() -> None:
    mine, chaos = ScriptedModel(), Chaos(failure=1)
    models = ModelRegistry({"mine": mine}, chaos=chaos)

    model = models.get("mine").model

    assert isinstance(model, FaultyModel)
    assert (model.model, model.chaos) == (mine, chaos)
    assert [models.get(name).has_faults for name in ("mine", "scripted", "caller")] == [True, True, False]


# Each fault ---------------------------------------------------------------------------------------


async def failure_of(model: Model, request: Request) -> ModelError:
    with anyio.fail_after(PATIENCE), pytest.raises(ModelError) as failure:
        await model.reply(request)
    return failure.value


async def test_a_failure_has_any_of_the_causes_and_says_that_it_was_chaos() -> None:
    told = [await failure_of(always("failure"), request) for request in calls(60)]

    assert {error.cause for error in told} == {cause for cause, _, _ in FAILURES}
    assert {error.attempts for error in told} == {1, 3}
    assert all(error.detail.startswith("mine: ") and "(chaos)" in error.detail for error in told)


async def test_a_timeout_comes_when_the_time_is_up_and_not_before() -> None:
    began = anyio.current_time()

    error = await failure_of(always("timeout"), contract.build_argument_request(timeout=0.02))

    assert error.cause == "timeout"
    assert "0.02 seconds" in error.detail
    assert anyio.current_time() - began >= 0.02


@pytest.mark.parametrize("fault", ["timeout", "never"])
async def test_who_hangs_can_be_cancelled(fault: str) -> None:
    with anyio.fail_after(PATIENCE), anyio.move_on_after(0.01) as limit:
        await always(fault).reply(contract.build_argument_request(timeout=600))

    assert limit.cancelled_caught


async def test_latency_differs_from_call_to_call_and_is_taken_off_the_time_there_is() -> None:
    inner = ScriptedModel()
    model = FaultyModel(inner, Chaos(latency=0.01))

    for request in calls(5):
        await contract.reply_in_time(model, request)

    left = [request.timeout for request in inner.requests]
    assert len(set(left)) == 5
    assert all(0 < contract.build_argument_request().timeout - timeout <= 0.01 for timeout in left)


async def test_latency_beyond_the_time_there_is_is_a_timeout() -> None:
    inner = ScriptedModel()

    error = await failure_of(
        FaultyModel(inner, Chaos(latency=3600)), contract.build_argument_request(timeout=0.01)
    )

    assert (error.cause, inner.requests) == ("timeout", [])


async def test_an_empty_reply_is_paid_for() -> None:
    reply = await contract.reply_in_time(always("empty"))

    assert (reply.text, reply.function_calls) == ("", ())
    assert reply.usage.output_tokens > 0


async def test_a_truncated_reply_says_that_it_was_cut() -> None:
    whole = await contract.reply_in_time(ScriptedModel())

    reply = await contract.reply_in_time(always("truncated"))

    assert reply.cut
    assert whole.text.startswith(reply.text)
    assert 0 < len(reply.text) < len(whole.text)


@pytest.mark.full
async def test_replies_are_corrupt_in_every_way_there_is() -> None:
    request = contract.build_judgment_request()
    right = await contract.reply_in_time(ScriptedModel(), request)
    replies: list[Any] = [
        await contract.reply_in_time(always("corrupt", seed), request) for seed in range(100)
    ]

    assert None in replies
    answers = [reply for reply in replies if reply]
    assert len({(reply.text, reply.function_calls) for reply in answers}) == len(CORRUPTIONS) - 1
    assert right.text not in {reply.text for reply in answers}


@pytest.mark.parametrize("fault", ANSWERED)
async def test_nobody_reads_along_what_will_arrive_otherwise(fault: str) -> None:
    pieces: list[str] = []

    await contract.reply_in_time(always(fault), contract.build_argument_request(), pieces.append)

    assert pieces == []
