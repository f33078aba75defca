import json

import jsonschema
import pytest

from server.debate.facts.errors import InvalidRequestError
from server.models import FunctionCall, ModelError, Request
from server.models.fakes.scripted import ScriptedModel, ScriptOutput
from tests.contract import model as contract
from tests.contract import tasks

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N7")]


class TestContract(contract.ModelContract, tasks.TaskContract):
    @pytest.fixture
    def model(self) -> ScriptedModel:
        return ScriptedModel()

    @pytest.fixture
    def endless(self) -> contract.EndlessModel:
        return contract.build_endless_model(ScriptedModel)


async def test_the_same_question_is_answered_alike_and_another_otherwise() -> None:
    model = ScriptedModel()

    first, again, otherwise = [
        (await contract.reply_in_time(model, request)).text
        for request in (
            contract.build_argument_request(),
            contract.build_argument_request(),
            contract.build_argument_request(opponent="It does not scale."),
        )
    ]

    assert first == again != otherwise
    assert "SQLite" in first
    assert "It does not scale." in otherwise
    assert 60 <= len(first.split()) <= 120


async def test_a_judge_finds_for_the_same_letter_in_both_orders() -> None:
    model = ScriptedModel()

    first = json.loads((await contract.reply_in_time(model, contract.build_judgment_request(reading=1))).text)
    second = json.loads(
        (await contract.reply_in_time(model, contract.build_judgment_request(reading=2, seed=99))).text
    )

    assert first["winner"] == second["winner"] in ("W45", "K73")


@pytest.mark.parametrize("chars", [1, 2, 40, 1200, 1_000_000])
async def test_an_argument_has_the_length_asked_for(chars: int) -> None:
    reply = await contract.reply_in_time(ScriptedModel.from_name(f"scripted?chars={chars}"))

    assert len(reply.text) == chars


@pytest.mark.parametrize(
    ("name", "delay", "chars"),
    [
        ("scripted", 0, 0),
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
        "delay=nan",
        "chars=1000001",
    ],
)
def test_a_parameter_that_means_nothing_is_refused(query: str) -> None:
    with pytest.raises(InvalidRequestError, match=r"is not understood.*delay=0\.2&chars=1200"):
        ScriptedModel.from_name(f"scripted?{query}")


async def test_whoever_speaks_next_goes_round_the_table() -> None:
    spoke, seat = [], "Ada"
    for number in range(1, 7):
        spoke.append(seat)
        request = tasks.build_task_request(
            "argument", round_number=number, handoff=True, functions=(tasks.HANDOFF,), seat=seat
        )
        reply = await contract.reply_in_time(ScriptedModel(), request)
        seat = json.loads(reply.text)["next_agent_name"]

    assert spoke == [*tasks.NAMES, *tasks.NAMES]


async def test_something_is_looked_up_once_and_then_quoted() -> None:
    first = await contract.reply_in_time(
        ScriptedModel(), tasks.build_task_request("opening", functions=(tasks.SEARCH, tasks.HANDOFF))
    )
    found = "What you looked up, with web__search:\n\n> SQLite serves small sites.\n> And more."
    then = await contract.reply_in_time(
        ScriptedModel(), tasks.build_task_request("opening", functions=(tasks.SEARCH,), instruction=found)
    )

    quoted = tasks.build_task_request(
        "opening", functions=(tasks.SEARCH,), instruction="> What you looked up:\n> nothing"
    )

    (call,) = first.function_calls
    jsonschema.validate(json.loads(call.arguments), tasks.SEARCH.parameters)
    assert (call.name, then.function_calls) == ("web__search", ())
    assert (await contract.reply_in_time(ScriptedModel(), quoted)).function_calls
    assert '"SQLite serves small sites."' in tasks.parse_reply(then, tasks.SCHEMAS["opening"])["briefing"]


async def test_a_response_is_no_longer_than_its_schema_allows() -> None:
    model = ScriptedModel.from_name("scripted?chars=5000")

    found = json.loads(
        (await contract.reply_in_time(model, tasks.build_task_request("argument", handoff=True))).text
    )

    assert 1000 < len(found["response"]) <= 2000


@pytest.mark.requirement("A4")
async def test_a_script_of_your_own_is_followed_and_what_was_asked_is_kept() -> None:
    call = FunctionCall("handoff", "{}")

    def script(request: Request) -> ScriptOutput:
        if request.seat == "A":
            raise ModelError("refused", "scripted: not today.")
        return (call,) if request.seat == "B" else f"{request.seat} speaks."

    mine, ours = ScriptedModel(script, name="mine"), ScriptedModel.from_name("scripted")
    with pytest.raises(ModelError, match="not today"):
        await mine.reply(contract.build_argument_request("A"))
    called, spoken = [
        await contract.reply_in_time(mine, contract.build_argument_request(seat)) for seat in "BC"
    ]
    await contract.reply_in_time(ours)

    assert (called.text, called.function_calls) == ("", (call,))
    assert (spoken.text, spoken.usage.model) == ("C speaks.", "mine")
    assert [request.seat for request in mine.requests] == ["A", "B", "C"]
    assert ours.requests == []


async def test_in_a_round_of_messages_everybody_is_asked_by_somebody() -> None:
    for number in (1, 2, 3, 4):
        requests = [
            tasks.build_task_request("message", round_number=number, seat=seat) for seat in tasks.NAMES
        ]
        replies = [await contract.reply_in_time(ScriptedModel(), request) for request in requests]

        addressed = [tasks.parse_reply(reply, tasks.SCHEMAS["message"])["to"] for reply in replies]
        assert set(addressed) == set(tasks.NAMES)
