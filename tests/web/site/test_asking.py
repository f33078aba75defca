"""A new debate from the page: what it may be made of, what it would cost, and its start; and keys of providers."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import anyio
import httpx2
import pytest

from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.setup.seats import HUMAN
from server.models import OnText, Reply, Request
from server.models.fakes.scripted import ScriptedModel
from server.models.providers import keys
from server.models.registry import PROVIDERS
from server.web.site import asking
from server.web.site.routes import Visitor, build_site
from tests.support.engines import open_engine, start_debate
from tests.support.patience import PATIENCE
from tests.support.pdfs import write_pdf
from tests.support.sites import Guest, open_site

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N19")]

QUESTION: dict[str, Any] = {"question": "Ship it?", "run": True}
KEY = "sk-live-0123456789abcdefghij"


@pytest.fixture
async def guest(database: str) -> AsyncIterator[Guest]:
    async with open_site(database, ScriptedModel()) as opened:
        yield opened


async def ask(guest: Guest, **fields: Any) -> httpx2.Response:
    return await guest.post("debates", QUESTION | fields)


async def count_debates(guest: Guest) -> int:
    return len(await guest.manager.store.find())


async def follow_to_end(guest: Guest, debate_id: str) -> Any:
    with anyio.fail_after(PATIENCE):
        while not (snapshot := await guest.manager.follow(debate_id, wait=PATIENCE)).debate.ended:
            pass
    return snapshot


async def test_the_choices_are_the_usual_models_a_persons_seat_formats_efforts_and_keys(guest: Guest) -> None:
    choices = await guest.read("choices")
    assert choices["usual"] == ["mine"]
    assert choices["models"][0] == "mine"
    assert HUMAN in choices["models"]
    assert {row["name"]: row["has_sides"] for row in choices["formats"]}.items() >= {
        ("second_opinion", False),
        ("advocates", True),
    }
    assert (choices["format"], choices["effort"]) == ("second_opinion", "standard")
    assert choices["efforts"] == ["quick", "standard", "assured"]
    assert [row["provider"] for row in choices["keys"]] == [row.name for row in PROVIDERS]
    assert not any(row["is_set"] for row in choices["keys"])


async def test_where_no_model_is_set_up_none_is_usual(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "debates.db", default="") as manager:
        site = build_site(lambda _: Visitor(manager, "page"))
        server = httpx2.ASGITransport(site)
        async with httpx2.AsyncClient(transport=server, base_url="http://test") as client:
            found = (await client.get("/choices")).json()
    assert (found["usual"] or ["local"], found["keys"]) == (["local"], [])


async def test_an_estimate_tells_calls_and_price_and_asks_and_records_nothing(database: str) -> None:
    asked: list[Request] = []

    def note(request: Request) -> str:
        asked.append(request)
        return "Yes."

    async with open_site(database, ScriptedModel(note)) as guest:
        told = (await guest.post("estimate", QUESTION)).json()
        quick = (await guest.post("estimate", QUESTION | {"options": {"effort": "quick"}})).json()
        assert told["line"].startswith("Estimate: ")
        assert 0 < quick["calls"] < told["calls"]
        assert (asked, await count_debates(guest)) == ([], 0)


async def test_a_question_is_asked_once_and_runs_to_its_answer(guest: Guest) -> None:
    document = {"title": "plan.md", "text": "It was tested twice."}
    fields = {"documents": [document], "options": {"my_answer": "Ship it.", "tags": ["release"]}}
    first, again = await ask(guest, **fields), await ask(guest, **fields)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    ended = await follow_to_end(guest, first.json()["debate_id"])
    assert (ended.status, ended.entries[0].actor, await count_debates(guest)) == ("concluded", "page", 1)
    setup = ended.debate.setup
    assert [one.title for one in setup.documents] == ["plan.md"]
    assert setup.answering.mine == "Ship it."
    assert ended.debate.tags == ("release",)


async def test_a_limit_that_was_set_holds(guest: Guest) -> None:
    asked = await ask(guest, options={"limits": {"max_calls": 3}})
    ended = await follow_to_end(guest, asked.json()["debate_id"])
    assert sum(bool(getattr(entry.event, "usage", None)) for entry in ended.entries) <= 3
    unpriced = await ask(guest, options={"limits": {"max_cost_usd": 1}})
    assert unpriced.json()["error"] == (
        "The limit in dollars cannot be held: the price of mine is unknown, and unknown is not free. "
        "Choose another model, give its price in the setting `prices`, or limit the calls instead."
    )
    free = await ask(guest, models=["scripted"], options={"limits": {"max_cost_usd": 0.5}})
    setup = (await guest.manager.load(free.json()["debate_id"])).debate.setup
    assert setup.limits.max_cost_usd == "0.5"


async def test_what_cannot_be_asked_is_refused_with_a_sentence_and_opens_nothing(guest: Guest) -> None:
    for fields, said in (
        ({"question": ""}, "There is no question. Write what is to be answered, in a sentence."),
        (
            {"question": "x" * 10_001},
            "Put long material into a document, and ask the question",
        ),
        ({"format": "shouting"}, "shouting"),
        (
            {"models": ["openai/gpt-5.6-terra"]},
            "or the page of `counterpoint view`), or name other models.",
        ),
        ({"models": ["client"]}, "client"),
        ({"options": {"limits": {"max_calls": 0}}}, "The limit in calls must be at least 1."),
        ({"options": {"tags": ["x" * 61]}}, "A tag may have 60 characters at most."),
        ({"options": {"my_answer": "x" * 8_001}}, "Your own answer may have 8,000 characters at most."),
        (
            {"documents": [{"title": "x", "text": "x"}] * 21},
            "The list of documents may have 20 entries at most, and has 21.",
        ),
        (
            {"format": "advocates", "debaters": [{"name": "A"}]},
            "Name none, and a model names two positions.",
        ),
        ({"options": {"effort": "heroic"}}, "effort"),
        ({"documents": [{"title": "x"}]}, "A document: Field required."),
        ({"more": 1}, "more"),
    ):
        for path in ("estimate", "debates"):
            refused = await guest.post(path, QUESTION | fields)
            assert (refused.status_code, said in refused.json()["error"]) == (409, True), refused.text
    assert await count_debates(guest) == 0


async def test_a_request_that_is_too_large_says_what_to_leave_out(guest: Guest) -> None:
    refused = await ask(guest, documents=[{"title": "x", "text": "x" * 8_000_000}])
    assert refused.status_code == 413
    assert refused.json()["error"] == (
        "This is too large: 8,000,000 bytes are allowed. Leave something out, or keep only the part that matters."
    )


async def send_file(guest: Guest, name: str, content: bytes) -> httpx2.Response:
    address = f"{guest.site.build_address()}documents?{urlencode({'name': name})}"
    headers = {"origin": guest.site.guard.origin, "content-type": "application/octet-stream"}
    return await guest.client.post(address, content=content, headers=headers)


@pytest.mark.full  # it starts a process
async def test_files_are_read_as_the_terminal_reads_them_or_refused_with_what_to_do(
    guest: Guest, tmp_path: Path
) -> None:
    report = write_pdf(tmp_path / "report.pdf", ["It was tested twice."]).read_bytes()
    read = await send_file(guest, "report.pdf", report)
    assert read.json() == {"text": "[page 1]\nIt was tested twice.\n"}
    page = await send_file(guest, "page.html", b"<p>They <b>rose</b>.<script>x</script>")
    assert page.json() == {"text": "They rose."}
    for name, content, status, said in (
        ("scan.pdf", b"none", 409, "scan.pdf cannot be read as PDF"),
        (
            "a\n\u202e.docx",
            b"PK\0",
            409,
            "is neither text in UTF-8 nor a PDF. Save it as one of these first.",
        ),
        ("big.pdf", b"x" * 20_000_001, 413, "This is too large: 20,000,000 bytes are allowed."),
    ):
        refused = await send_file(guest, name, content)
        assert (refused.status_code, said in refused.json()["error"]) == (status, True), refused.text
        assert "\u202e" not in refused.text


@pytest.mark.full  # it starts a process
async def test_a_file_that_takes_too_long_is_given_up() -> None:
    with pytest.raises(InvalidRequestError, match="takes too long to read"):
        await asking.read_file("report.pdf", b"%PDF-1.4", seconds=0)


@pytest.mark.parametrize("path", ["estimate", "debates", "keys", "documents"])
async def test_no_other_page_can_ask_estimate_or_store_a_key(guest: Guest, path: str) -> None:
    content = {"provider": "openai", "key": KEY} if path == "keys" else QUESTION
    for origin in ("", "null", "https://evil.example", "http://127.0.0.1:1"):
        assert (await guest.post(path, content, origin=origin)).status_code == 403
    assert (await guest.post(path, content, host="evil.example")).status_code == 421
    for content_type in ("", "text/plain", "application/x-www-form-urlencoded"):
        assert (await guest.post(path, content, content_type=content_type)).status_code == 415
    address = f"{guest.site.guard.origin}/wrong/{path}"
    own = {"origin": guest.site.guard.origin}
    assert (await guest.client.post(address, json=content, headers=own)).status_code == 403
    assert (await guest.get(path)).status_code == 405
    assert (await count_debates(guest), keys.read_stored().in_file) == (0, {})


async def test_a_key_is_stored_as_the_terminal_stores_it_used_at_once_and_never_shown(guest: Guest) -> None:
    try:
        stored = await guest.post("keys", {"provider": "mistral", "key": f" {KEY}\n"})
        assert stored.status_code == 200
        assert stored.json()["line"].endswith(", and used from now on.")
        assert dict(keys.read_stored().in_file) == {"MISTRAL_API_KEY": KEY}
        choices = await guest.get("choices")
        assert KEY not in stored.text + choices.text
        assert [row["provider"] for row in choices.json()["keys"] if row["is_set"]] == ["mistral"]
        assert "mistral/mistral-large-latest" in choices.json()["models"]
        for key in ("short", "two words " * 5, "x" * 9_500):
            refused = await guest.post("keys", {"provider": "mistral", "key": key})
            assert (refused.status_code, key in refused.text) == (409, False)
        assert dict(keys.read_stored().in_file) == {"MISTRAL_API_KEY": KEY}
    finally:
        keys.remove("MISTRAL_API_KEY")
        keys.origins.pop("MISTRAL_API_KEY", None)


async def test_a_key_of_the_environment_wins_over_one_that_is_stored() -> None:
    environ = {"XAI_API_KEY": "of-the-environment"}
    assert not keys.use("XAI_API_KEY", KEY, "the file", environ)
    assert environ == {"XAI_API_KEY": "of-the-environment"}


async def test_words_are_sent_while_they_are_written_and_not_where_they_are_private(database: str) -> None:
    written, release = anyio.Event(), anyio.Event()

    class Slow:
        async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
            if on_text and not release.is_set():
                on_text('{"recommendation": "Ship on \\u00dcbung.' if "Advisor" in request.seat else "Secret")
                written.set()
                await release.wait()
            return await ScriptedModel().reply(request)

    async with open_site(database, Slow()) as guest, guest.follow() as events:
        await events.settle()
        shown = (await ask(guest)).json()["debate_id"]
        with anyio.fail_after(PATIENCE):
            await written.wait()
            while not (words := (await events.next("words")).get(shown)):
                pass
        assert set(words) <= {"Advisor 1", "Advisor 2"}
        assert "Ship on Übung." in words.values()  # no secret of this machine begins with a full stop
        release.set()
        await follow_to_end(guest, shown)
        with anyio.fail_after(PATIENCE):
            while shown in await events.next("words"):
                pass


async def test_a_person_takes_a_seat_and_tells_how_it_turned_out(guest: Guest) -> None:
    team = [{"name": "Ann", "stance": "Yes.", "model": HUMAN}, {"name": "Ben", "stance": "No."}]
    debate_id = (await ask(guest, format="verdict", debaters=team)).json()["debate_id"]
    with anyio.fail_after(PATIENCE):
        while not (found := await guest.read(f"debates/{debate_id}/record"))["awaited"]:
            await guest.manager.follow(debate_id, wait=PATIENCE)
    [turn] = found["awaited"]
    assert (turn["speaker"], "# Your turn" in turn["prompt"]) == ("Ann", True)
    early = await guest.press(debate_id, "settle", to="right", request_id="press-0001")
    assert (early.status_code, "has not ended" in early.json()["error"]) == (409, True)
    said = await guest.press(debate_id, "turn", to="Ann", text="It pays.", request_id="press-0002")
    assert said.json() == {"line": "It is recorded."}
    assert (await guest.manager.load(debate_id)).debate.turns[0].text == "It pays."
    other = await guest.press(debate_id, "turn", to="Nobody", text="It pays.", request_id="press-0003")
    assert other.status_code == 409


async def test_what_turned_out_is_recorded_with_its_reason_and_can_be_corrected(guest: Guest) -> None:
    debate_id = (await ask(guest)).json()["debate_id"]
    await follow_to_end(guest, debate_id)
    right = await guest.press(debate_id, "settle", to="right", request_id="press-0001")
    assert right.json()["line"].startswith("It is recorded")
    wrong = await guest.press(debate_id, "settle", to="wrong", text="It broke.", request_id="press-0002")
    assert wrong.json()["line"].startswith("It replaces the one recorded before")
    outcome = (await guest.manager.load(debate_id)).debate.outcome
    assert outcome is not None
    assert (outcome.wrong, outcome.reason) == (True, "It broke.")


async def test_the_page_is_sent_as_a_file_that_asks_nothing_of_the_site(guest: Guest) -> None:
    debate_id = (await start_debate(guest.manager)).id
    sent = await guest.get(f"debates/{debate_id}/page.html")
    assert sent.headers["content-disposition"] == f'attachment; filename="debate-{debate_id}.html"'
    assert "connect-src &#x27;none&#x27;" in sent.text
    assert guest.site.guard.token not in sent.text
    assert (await guest.get("debates/zzzz/page.html")).status_code == 404


async def test_where_the_machine_is_not_the_visitors_own_no_key_is_stored_and_no_file_read(
    database: str,
) -> None:
    async with open_engine(database, default="") as manager:
        site = build_site(lambda _: Visitor(manager, "page"))
        server = httpx2.ASGITransport(site)
        async with httpx2.AsyncClient(transport=server, base_url="http://test") as client:
            refused = await client.post("/keys", content=json.dumps({"provider": "openai", "key": KEY}))
            assert refused.status_code == 409
            assert "where the server runs" in refused.json()["error"]
            octets = {"content-type": "application/octet-stream"}
            refused = await client.post("/documents?name=plan.pdf", content=b"%PDF-", headers=octets)
            assert refused.status_code == 409
            assert refused.json()["error"] == (
                "This server reads plain text only. Save plan.pdf as text first."
            )
            missing = await client.post("/estimate", json=QUESTION | {"models": ["openai/gpt-5.6-terra"]})
            assert missing.json()["error"] == (
                "The model openai/gpt-5.6-terra needs a key, and OPENAI_API_KEY is not set where the server runs. Set "
                "it there, store it (`counterpoint keys set openai`, or the page of `counterpoint view`), or name "
                "other models."
            )
    assert keys.read_stored().in_file == {}
