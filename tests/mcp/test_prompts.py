"""Prompts: commands of the client that start a debate, or take one up again."""

import re
from typing import Any

import pytest
from mcp import MCPError
from mcp.types import PromptReference

from tests.support.client_calls import call
from tests.support.mcp_debates import run_debate
from tests.support.raw_sql import run_raw

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N13")]

GIVEN = {
    "second_opinion": {"question": "Is {Rust} 100 % faster?"},
    "red_team": {"plan": "Ship on Friday.\nRoll back by hand."},
    "decide": {"options": "SQLite, PostgreSQL or {neither}"},
}


async def fill(client: Any, name: str, **arguments: str) -> str:
    [message] = (await client.get_prompt(name, arguments)).messages
    assert message.role == "user"
    return str(message.content.text)


async def test_each_prompt_says_what_it_is_for_and_what_it_takes(open_client: Any) -> None:
    async with open_client() as client:
        prompts = (await client.list_prompts()).prompts

    assert {prompt.name: [one.name for one in prompt.arguments] for prompt in prompts} == {
        **{name: [*arguments] for name, arguments in GIVEN.items()},
        "resume": ["debate_id"],
    }
    assert all(prompt.title and prompt.description for prompt in prompts)
    assert all(argument.description for prompt in prompts for argument in prompt.arguments)


async def test_a_filled_prompt_holds_what_was_given_and_names_tools_there_are(open_modern: Any) -> None:
    async with open_modern() as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        for name, arguments in GIVEN.items():
            text = await fill(client, name, **arguments)
            [given] = arguments.values()
            assert f"\n\n{given}\n\n" in text
            named = {*re.findall(r"\b[a-z]+_[a-z]+\b", text)} - {"debate_id", "my_answer"}
            assert "start_debate" in named
            assert named <= tools


async def test_a_debate_is_taken_up_with_its_question_its_status_and_who_recorded_it(
    open_modern: Any, database: str
) -> None:
    async with open_modern() as client:
        opened = await call(client, "start_debate", question="Should penguins fly?")
        text = await fill(client, "resume", debate_id=opened["debate_id"])
        assert f'get_verdict with debate_id="{opened["debate_id"]}"' in text
        assert '"Should penguins fly?", its status ready' in text

        ended = await run_debate(client, question="Should fish walk?")
        assert "its status concluded. Call" in await fill(client, "resume", debate_id=ended["debate_id"])
        run_raw(database, "update stream set seal = ''")  # as if another installation had held it
        told = await fill(client, "resume", debate_id=ended["debate_id"])
        assert re.search(r"its status concluded\. Recorded elsewhere, signed by .+; not adopted\. Call", told)


async def test_ids_of_debates_are_completed_newest_first(open_modern: Any) -> None:
    async with open_modern() as client:
        ids = [
            (await call(client, "start_debate", question=f"Question {number}?"))["debate_id"]
            for number in range(2)
        ]
        ref = PromptReference(name="resume")

        async def complete(value: str) -> list[str]:
            found = await client.complete(ref, {"name": "debate_id", "value": value})
            return list(found.completion.values)

        assert await complete("") == [*reversed(ids)]
        assert await complete(ids[0]) == [ids[0]]
        assert await complete("zzzz") == []
        asked = await client.complete(PromptReference(name="decide"), {"name": "options", "value": ""})
        assert asked.completion.values == []


REFUSED: list[tuple[str, dict[str, str], str]] = [
    ("second_opinion", {}, '"question" is missing. It takes question.'),
    ("second_opinion", {"question": " \u200b "}, '"question" is missing'),
    ("decide", {"options": "a or b", "option": "c"}, '"option" is not one of its arguments'),
    ("advise", {}, 'There is no prompt "advise": there are second_opinion, red_team, decide, resume.'),
    ("resume", {"debate_id": "nope"}, "nope"),
]


async def test_what_cannot_be_filled_is_refused_with_the_reason(open_modern: Any) -> None:
    async with open_modern() as client:
        for name, arguments, problem in REFUSED:
            with pytest.raises(MCPError) as refused:
                await client.get_prompt(name, arguments)
            assert refused.value.error.code == -32602
            assert problem in refused.value.error.message
