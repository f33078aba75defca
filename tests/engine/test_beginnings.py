"""Calls on one model that begin alike: the first goes ahead, and providers' caches serve the others."""

from asyncio import StreamWriter
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from server.compose import open_manager
from server.debate.rules.sharing import LONG_TOKENS, Sharing
from server.engine.beginnings import Beginning, Beginnings
from server.engine.database.snapshots import DebateSnapshot
from server.models import Message, Prompt, PromptSummary, Request
from server.models.providers.caches import PromptCache
from server.settings import Settings
from tests.support.engines import run_debate
from tests.support.patience import PATIENCE
from tests.support.provider.stub import Stub, StubRequest

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N11")]

KEYS = {"OPENAI_API_KEY": "sk-test-0123456789abcdef"}
TERRA = "openai/gpt-5.6-terra"
DOCUMENT = " ".join(f"Line {number} says what is done." for number in range(900))


@dataclass
class Watched(Stub):
    """A stub that notes how many replies had begun when each request came."""

    latency: float = 0.02
    begun: int = 0
    begun_before: list[int] = field(default_factory=list)

    async def _respond(self, request: StubRequest, writer: StreamWriter) -> None:
        self.begun_before.append(self.begun)
        await super()._respond(request, writer)

    def _choose_text(self, scenario: str, body: Mapping[str, Any]) -> tuple[str, str]:
        self.begun += 1
        return super()._choose_text(scenario, body)


@pytest.fixture
async def stub(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Watched]:
    async with Watched() as stub:
        for name in ("MINE_API_BASE", "OPENAI_API_BASE"):
            monkeypatch.setenv(name, stub.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEYS["OPENAI_API_KEY"])
        yield stub


async def debate(database: str, *models: str, document: str = DOCUMENT, **fields: Any) -> DebateSnapshot:
    documents = [{"title": "plan", "text": document}] if document else []
    asked = {"format": "second_opinion", "question": "Ship the plan?", "options": {"effort": "standard"}}
    async with open_manager(Settings(db=database), environ=KEYS) as manager:
        snapshot = await run_debate(manager, models=list(models), documents=documents, **asked | fields)
    assert snapshot.status == "concluded"
    return snapshot


def count_marks(body: Mapping[str, Any]) -> int:
    content = body["messages"][-1]["content"]
    return sum("prompt_cache_breakpoint" in each for each in content if isinstance(each, dict))


async def test_the_first_call_goes_ahead_where_prompts_begin_with_a_long_document(
    database: str, stub: Watched
) -> None:
    await debate(database, "mine/m")

    assert stub.begun_before == [0, 1, 2, 2, 4]  # the reviewers' model has read the document


@pytest.mark.parametrize(
    ("models", "document"), [(("mine/m",), "A short one."), (("mine/m", "mine/n"), DOCUMENT)]
)
async def test_calls_that_have_little_in_common_are_made_at_once(
    database: str, stub: Watched, models: tuple[str, ...], document: str
) -> None:
    stub.latency = 0.5

    await debate(database, *models, document=document)

    assert stub.begun_before[:2] == [0, 0]


async def test_calls_that_share_a_long_document_go_without_a_schema_and_mark_its_end(
    database: str, stub: Watched
) -> None:
    await debate(database, TERRA)

    *readers, report = (one.body for one in stub.chat_requests)
    assert len({body["prompt_cache_key"] for body in readers}) == 1
    assert ["response_format" in body for body in readers] == [False] * 4
    assert [count_marks(body) for body in readers] == [1] * 4
    beginnings = {body["messages"][-1]["content"][1]["text"] for body in readers}
    assert len(beginnings) == 1
    assert DOCUMENT[:100] in beginnings.pop()
    assert "prompt_cache_key" not in report  # it reads no document


async def test_a_model_that_nobody_shares_a_document_with_gets_its_schema_and_no_mark(
    database: str, stub: Watched
) -> None:
    await debate(database, TERRA, "mine/m", options={"effort": "quick"})

    (body,) = (one.body for one in stub.chat_requests if one.body["model"] != "m")
    assert "response_format" in body
    assert count_marks(body) == 0


async def test_a_model_that_did_not_write_json_gets_its_schema_for_the_rest_of_the_debate(
    database: str, stub: Watched
) -> None:
    replies = ["prose"]
    stub.script = lambda task, _, __: replies.pop() if task == "review" and replies else ""

    snapshot = await debate(database, TERRA)

    assert [failure.cause for failure in snapshot.debate.failures] == ["unreadable"]
    has_schema = ["response_format" in one.body for one in stub.chat_requests]
    assert has_schema[:5] == [False, False, False, False, True]


@pytest.mark.parametrize("format_name", ["advocates", "verdict", "handoff"])
async def test_all_calls_on_a_model_begin_with_the_document_that_the_first_has_sent(
    database: str, stub: Watched, format_name: str
) -> None:
    await debate(database, TERRA, format=format_name, max_rounds=2)

    first, *others = (one.body for one in stub.chat_requests)
    assert len(others) > 2
    assert stub.begun_before[1] == 1
    assert len({body["prompt_cache_key"] for body in (first, *others)}) == 1
    assert all(count_marks(body) for body in (first, *others))
    assert not any("response_format" in body for body in (first, *others))


# What the process remembers.

TEXT = "# Question\n> why?\n\n" + "> " + "x" * 4 * LONG_TOKENS + "\n\n"
SHARED = Sharing(is_shared=True)


def build_request(more: str = "", *, schema: dict[str, Any] | None = None) -> Request:
    messages = (Message("system", "Be right."), Message("user", f"{TEXT}{more}# Your task"))
    summary = PromptSummary("argument", "why?", 1)
    prompt = Prompt(messages, summary, schema, record=len(TEXT + more), documents=len(TEXT))
    return Request(prompt, seat="A", max_tokens=100, timeout=20, seed=1)


async def begin(
    known: Beginnings, request: Request, sharing: Sharing = SHARED
) -> tuple[Request, Beginning | None]:
    with anyio.fail_after(PATIENCE):
        return await known.follow("mine/m", request, PromptCache(reads_schema=True), lambda: sharing)


async def test_a_text_is_marked_as_far_as_it_was_read_and_as_far_as_others_will_read_it() -> None:
    known, more = Beginnings(), "# Round 1\n\n> one\n\n"

    first, own = await begin(known, build_request())
    with known.lead(own, None):
        pass
    second, own = await begin(known, build_request(more))
    with known.lead(own, None):
        pass
    last, nothing = await begin(known, build_request(more + "> two\n\n"), Sharing())

    assert first.marks == (len(TEXT),)
    assert second.marks == (len(TEXT), len(TEXT + more))
    assert (last.marks, nothing) == ((len(TEXT + more),), None)


async def test_nobody_waits_for_a_few_words_more() -> None:
    known = Beginnings()
    _, own = await begin(known, build_request())
    with known.lead(own, None):
        pass

    for _ in range(2):  # neither reply has begun
        request, own = await begin(known, build_request("> one\n\n"))
        assert own is not None
        assert own.tokens < LONG_TOKENS
        assert request.marks == (len(TEXT), len(TEXT) + len("> one\n\n"))


async def test_a_reply_that_does_not_begin_is_not_waited_for_long() -> None:
    known = Beginnings(longest_lead=0.01)

    _, first = await begin(known, build_request())
    request, second = await begin(known, build_request())

    assert first is not None
    assert second is None
    assert request.marks == (len(TEXT),)


async def test_those_who_wait_go_on_when_a_call_fails_and_its_text_counts_as_not_sent() -> None:
    known = Beginnings()
    _, own = await begin(known, build_request())

    async def fail() -> None:
        with suppress(ConnectionError), known.lead(own, None):
            await anyio.wait_all_tasks_blocked()
            raise ConnectionError

    async def follow() -> None:
        assert (await begin(known, build_request()))[1] is None

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            tasks.start_soon(fail)

    assert (await begin(known, build_request()))[1] is not None


async def test_a_text_counts_as_sent_where_a_call_fails_after_its_reply_began() -> None:
    known = Beginnings()
    _, own = await begin(known, build_request())

    with suppress(ConnectionError), known.lead(own, None) as on_text:
        assert on_text is not None
        on_text("")
        raise ConnectionError

    assert (await begin(known, build_request()))[1] is None


async def test_pieces_are_passed_on_but_for_the_sign_that_a_reply_begins() -> None:
    known, told = Beginnings(), list[str]()
    _, own = await begin(known, build_request())

    with known.lead(own, told.append) as on_text:
        assert on_text is not None
        for piece in ("", "so", " it is"):
            on_text(piece)

    assert told == ["so", " it is"]


async def test_a_text_that_nobody_read_for_minutes_is_sent_anew_and_forgotten() -> None:
    known = Beginnings(kept_seconds=-1.0, most_known=1)
    _, own = await begin(known, build_request())
    with known.lead(own, None):
        pass

    assert (await begin(known, build_request()))[1] is not None
    assert (await begin(known, build_request("> one\n\n")))[1] is not None
