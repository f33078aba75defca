"""Webhooks: who is called, what with, how often, and where they may not go."""

import json
import ssl
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from server.debate.commands.setup.open import open_debate
from server.debate.facts.events import Recorded, Spoke
from server.debate.views.events import build_event_row
from server.debate.views.verdict import build_verdict
from server.engine.debates import utc_now
from server.hooks.address_policy import is_public, resolve
from server.hooks.matching import collect_fields
from server.hooks.webhook import build_body, build_headers, load_certificates
from storage.outbox import OutboxItem
from tests.support.advisors import begin_advice, play_advice
from tests.support.engines import run_debate, start_debate
from tests.support.hook_debates import hook, open_hooks, open_retrying_hooks, post_at_start, webhook
from tests.support.log_lines import LogLines
from tests.support.patience import PATIENCE
from tests.support.processes.webhook_receiver import WebhookReceiver, open_receiver
from tests.support.simulation import build_request, build_usage, simulate

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D6")]


async def test_an_event_is_posted_with_its_debate_and_a_signature(database: str) -> None:
    async with open_receiver() as receiver:
        hooks = [hook("ops", "debate_end", webhook(receiver.url + "?to=ops"), tags="prod")]
        async with open_hooks(database, *hooks) as manager:
            await run_debate(manager)
            snapshot = await run_debate(manager, options={"tags": ["test", "prod"]})
            [posted] = await receiver.wait_for(1)

    assert posted.path == "/hook?to=ops"
    assert posted.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert posted.headers["content-type"] == "application/json"
    assert posted.is_signed
    assert posted.json == {
        "id": posted.id,
        "hook": "ops",
        "event": build_event_row(snapshot.debate, snapshot.entries[-1], name="debate_end"),
        "debate": {
            "id": snapshot.id,
            "question": "Ship it?",
            "format": "advocates",
            "status": "concluded",
            "tags": ["test", "prod"],
            "failures": [],
            "answer": build_verdict(snapshot.debate).answer.model_dump(exclude_defaults=True),
            "text": posted.json["debate"]["text"],
        },
    }
    assert posted.json["debate"]["text"].startswith("**Leaning (1 of 1 judge, 1 family)**: ")


@pytest.mark.requirement("D3", "D21")
async def test_a_consensus_comes_with_the_seats_that_failed_until_then(database: str) -> None:
    team = [{"name": name, "stance": f"plan {name}"} for name in ("Ada", "Ben", "Cy")]
    team[2]["model"] = "faulty?model=scripted&empty=1"
    async with open_receiver() as receiver:
        hooks = [hook("ops", "consensus", webhook(receiver.url))]
        async with open_hooks(database, *hooks) as manager:
            await run_debate(manager, debaters=team, options={"phases": ["synthesis", "voting"]})
            [posted] = await receiver.wait_for(1)

    assert posted.json["event"]["names"] == ["consensus"]
    [failure] = posted.json["debate"]["failures"]
    assert failure.startswith("Cy (faulty?model=scripted&empty=1): ")


@pytest.mark.parametrize(
    ("secret", "signature"),
    [
        ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
        ("a plain text", "v1,EMaO+BqfM9TTfEr3HGJRWMcbNKMCW3+XEhO0WbaXIOw="),
    ],
)
async def test_the_signature_is_what_the_standardwebhooks_library_makes(secret: str, signature: str) -> None:
    headers = build_headers("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}', secret)

    assert headers["webhook-id"] == "msg_p5jXN8AQM9LWM0D4loKWxJek"
    assert headers["webhook-timestamp"] == "1614265330"
    assert headers["webhook-signature"] == signature


@pytest.mark.parametrize("answer", ["500 Oh", "429 Slow down"])
async def test_what_may_work_later_is_tried_again_under_the_same_id(database: str, answer: str) -> None:
    async with (
        open_receiver(status_lines=[answer, answer]) as receiver,
        open_retrying_hooks(database, post_at_start(receiver.url)) as manager,
    ):
        await start_debate(manager)
        posted = await receiver.wait_for(3)

    assert len(posted) == 3
    assert len({one.id for one in posted}) == 1
    assert len({one.body for one in posted}) == 1


async def wait_for_giving_up(database: str, log_lines: LogLines, ops: dict[str, Any], **options: Any) -> str:
    """Start a debate with a hook that fails; what is said in the end."""
    async with open_retrying_hooks(database, ops, **options) as manager:
        await start_debate(manager)
        return await log_lines.wait_for("gave up")


async def test_attempts_are_counted_and_end(database: str, log_lines: LogLines) -> None:
    async with open_receiver(status_lines=["500 Oh"] * 9) as receiver:
        said = await wait_for_giving_up(database, log_lines, post_at_start(receiver.url, attempts=3))

    assert len(receiver.requests) == 3
    assert said.endswith("attempt 3: it answered with HTTP 500")


@pytest.mark.parametrize("answer", ["400 No", "302 Found\r\nLocation: /elsewhere"])
async def test_a_refusal_or_a_redirect_is_final(database: str, answer: str, log_lines: LogLines) -> None:
    async with open_receiver(status_lines=[answer]) as receiver:
        said = await wait_for_giving_up(database, log_lines, post_at_start(receiver.url))

    assert [one.path for one in receiver.requests] == ["/hook"]
    assert said.endswith(f"attempt 1: it answered with HTTP {answer[:3]}")


@pytest.mark.parametrize("date", [False, True])
async def test_attempts_wait_as_asked_and_go_on_after_a_restart(database: str, date: bool) -> None:
    ahead = timedelta()
    wanted = format_datetime(utc_now() + timedelta(seconds=900), usegmt=True) if date else "900"
    async with open_receiver(status_lines=[f"429 Slow\r\nRetry-After: {wanted}", "500 Oh"]) as receiver:
        hooks = [post_at_start(receiver.url, attempts=3)]

        async def process() -> None:
            async with open_retrying_hooks(
                database, *hooks, clock=lambda: utc_now() + ahead, retry_delays=(1, 60)
            ):
                pass

        async with open_retrying_hooks(database, *hooks, retry_delays=(1, 60)) as manager:
            await start_debate(manager)
            await receiver.wait_for(1)
        counts = []
        for seconds in (0, 800, 1000, 1030, 1100, 99_000):
            ahead = timedelta(seconds=seconds)
            await process()
            counts.append(len(receiver.requests))

    assert counts == [1, 1, 2, 2, 3, 3]


async def test_nobody_listening_is_an_attempt_that_may_work_later(database: str, log_lines: LogLines) -> None:
    async with open_receiver() as gone:
        url = gone.url
    said = await wait_for_giving_up(database, log_lines, post_at_start(url, attempts=2))

    assert said.endswith("attempt 2: 127.0.0.1 cannot be reached (ConnectError)")


async def test_a_server_that_does_not_answer_in_time_is_left(database: str, log_lines: LogLines) -> None:
    async with open_receiver(hangs=True) as receiver:
        ops = post_at_start(receiver.url, attempts=1, timeout=0.1)
        said = await wait_for_giving_up(database, log_lines, ops)

    assert said.endswith("there was no answer within 0.1 s")


async def test_a_host_whose_address_is_private_is_not_called_unless_that_is_allowed_by_name(
    database: str, log_lines: LogLines
) -> None:
    allow = {"hosts": ["localhost"], "private": ["localhost:1"]}
    async with open_receiver() as receiver:
        ops = post_at_start(f"https://localhost:{receiver.port}/hook")
        said = await wait_for_giving_up(database, log_lines, ops, allow=allow)

    assert receiver.connection_count == 0
    assert said.endswith("attempt 1: localhost has a private address and is not under allow.private")


async def test_a_name_with_one_private_address_is_not_called(database: str, log_lines: LogLines) -> None:
    async def two(_host: str, _port: int) -> list[str]:
        return ["93.184.216.34", "10.0.0.1"]

    ops, allow = post_at_start("https://hooks.example.org/x"), {"hosts": ["hooks.example.org"]}
    said = await wait_for_giving_up(database, log_lines, ops, allow=allow, resolver=two)
    assert "has a private address" in said


PUBLIC = ("93.184.216.34", "2606:2800:220:1::1", "64:ff9b::5db8:d822")
PRIVATE = (
    *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
    *("0.0.0.0", "224.0.0.1", "255.255.255.255", "no address"),  # noqa: S104  (not to listen on)
    *("::1", "::", "fe80::1%eth0", "fc00::1", "ff0e::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1"),
    *("64:ff9b::7f00:1", "2002:7f00:1::"),
    *("168.63.129.16", "192.0.0.192", "::ffff:a83f:8110", "64:ff9b::a83f:8110", "192.88.99.1"),
    *("fec0::1", "64:ff9b:1::a00:1", "64:ff9b:1:a00:0:100::", "::10.0.0.1", "::93.184.216.34"),
    *("::ffff:0:10.0.0.1", "3fff::1", "3fff:fff::1", "5f00::1"),
    "2001:0:5db8:d822::a247:27dd",  # Teredo, with public addresses inside
)


@pytest.mark.parametrize("address", [*PUBLIC, *PRIVATE])
async def test_only_addresses_of_the_internet_are_public(address: str) -> None:
    assert is_public(address) is (address in PUBLIC)


async def test_an_address_is_its_own() -> None:
    with anyio.fail_after(PATIENCE):
        assert await resolve("127.0.0.1", 443) == ["127.0.0.1"]


async def test_what_can_be_no_name_of_a_host_is_told_as_such(database: str, log_lines: LogLines) -> None:
    name = "x" * 100 + ".example"
    ops, allow = post_at_start(f"https://{name}/x", attempts=1), {"hosts": [name]}
    said = await wait_for_giving_up(database, log_lines, ops, allow=allow)
    assert said.endswith(f"attempt 1: {name} cannot be found (it is not a host name)")


# TLS ------------------------------------------------------------------------------------------------


def certified(folder: Path, name: str) -> tuple[Path, ssl.SSLContext]:
    """A certificate for a name that vouches for itself, and a server's context with it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path, private = folder / "certificate.pem", folder / "key.pem"
    path.write_bytes(made.public_bytes(Encoding.PEM))
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path, private)
    return path, context


async def posted_by_name(
    database: str, receiver: WebhookReceiver, wait: Callable[[], Awaitable[object]]
) -> int:
    """Post to hooks.example.org, which a name server says is here; how often it was asked."""
    asked = 0

    async def here(host: str, _port: int) -> list[str]:
        nonlocal asked
        asked += 1
        assert host == "hooks.example.org"
        return ["127.0.0.1"]

    load_certificates.cache_clear()  # each test has certificates of its own
    place = f"hooks.example.org:{receiver.port}"
    ops = post_at_start(f"https://{place}/x", attempts=1)
    async with open_retrying_hooks(database, ops, resolver=here, allow={"private": [place]}) as manager:
        await start_debate(manager)
        await wait()
    return asked


async def test_the_connection_goes_to_the_address_that_was_checked_and_the_certificate_is_for_the_name(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, context = certified(tmp_path, "hooks.example.org")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with open_receiver(tls=context) as receiver:
        asked = await posted_by_name(database, receiver, lambda: receiver.wait_for(1))
        [posted] = receiver.requests

    assert asked == 1
    assert posted.headers["host"] == f"hooks.example.org:{receiver.port}"


@pytest.mark.parametrize(("name", "trusted"), [("other.example.org", True), ("hooks.example.org", False)])
async def test_a_certificate_of_another_name_or_of_nobody_is_not_spoken_to(
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    log_lines: LogLines,
    name: str,
    trusted: bool,
) -> None:
    certificate, context = certified(tmp_path, name)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with open_receiver(tls=context) as receiver:
        await posted_by_name(
            database, receiver, lambda: log_lines.wait_for("cannot be reached (ConnectError)")
        )

    assert receiver.requests == []


async def test_a_very_long_event_is_sent_without_its_texts(database: str) -> None:
    documents = [{"title": f"D{number}", "text": "\N{SNOWMAN}" * 190_000} for number in range(2)]
    async with open_receiver() as receiver, open_hooks(database, post_at_start(receiver.url)) as manager:
        await start_debate(manager, documents=documents)
        [posted] = await receiver.wait_for(1)

    assert len(posted.body) < 10_000
    assert posted.json["event"]["cut"] is True
    assert posted.json["event"]["kind"] == "opened"


@pytest.mark.requirement("C21")
def test_a_hook_reads_names_where_a_model_wrote_code_words() -> None:
    setup = open_debate(build_request(), models=["scripted"], seed=1)
    at = simulate(setup).play_to_round(1)
    said = Spoke(seat="Opponent", round=1, seen=2, usage=build_usage(), text=f"{setup.labels[0]} is wrong.")
    entry = Recorded(3, "2026-12-01T10:00:03.000Z", "counterpoint", "f" * 64, said)
    debate = at.add_events(said).debate

    item = OutboxItem("id", "ops", 0, "d-1", 3, 3, "agent_message", due_at=0)
    posted = json.loads(build_body(item, debate, entry))["event"]

    assert (posted["text"], posted["hash"]) == ("Proponent is wrong.", entry.hash)
    assert collect_fields("d-1", "local", debate, entry, item.event)["text"] == ("Proponent is wrong.",)


@pytest.mark.requirement("N17", "N32")
def test_the_debate_of_a_delivery_has_its_answer_as_fields_and_as_a_text_to_be_sent_on() -> None:
    played = play_advice()
    entry = played.log[-1]
    item = OutboxItem("id", "ops", 0, "k3x9w2m4p7qr", entry.seq, entry.seq, "debate_end", due_at=0)
    posted = json.loads(build_body(item, played.debate, entry))["debate"]

    assert posted["answer"] == build_verdict(played.debate).answer.model_dump(exclude_defaults=True)
    assert posted["text"].startswith("**Agreed**: ")
    assert posted["text"].endswith("Debate k3x9w2m4p7qr")
    before = begin_advice().play_to_round(2)
    assert "answer" not in json.loads(build_body(item, before.debate, before.log[-1]))["debate"]
