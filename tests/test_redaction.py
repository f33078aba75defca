"""What is a secret, and what of it may be seen. Values are told apart by their names: learned ones stay learned."""

import json
from urllib.parse import quote

import pytest

from server.redaction import (
    MASK,
    find_secret_arguments,
    find_secret_headers,
    find_secrets,
    learn_secrets,
    redact,
    redact_pieces,
)
from server.settings import ResearchServer

pytestmark = pytest.mark.requirement("N7")

RANDOM = "q7Rk2ZpX9vLmT4bWc8Ja"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MY_PROVIDER_AUTH", "open sesame now"),
        ("monkeys", "bananas-1"),
        ("PGPASSWD", "tiny-pass"),
        ("Session_Cookies", "abc-1234"),
        ("GOOGLE_CREDENTIALS_JSON", '{"a": "b\\"c", "d": "é"}'),
        ("SIGNING", RANDOM),
        ("DATABASE", "postgresql://bob:hunter-2222@db.example/x"),
        ("PROXY", "http://onlyatoken1@proxy.example:8080"),
        ("ENDPOINT", "https://api.example.org/v1?x=1&api_key=aBcd-9876"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-api-key=otel-1234,a=b"),
        ("SERVERS", '{"a": {"env": {"NOTES_TOKEN": "notes-12345"}}}'),
    ],
)
def test_a_value_is_secret_by_its_name_its_place_or_its_look(name: str, value: str) -> None:
    learn_secrets(find_secrets({name: value}))

    assert redact(f"so {value} it is") != f"so {value} it is"
    for part in (
        "open sesame now",
        "hunter-2222",
        "onlyatoken1",
        "aBcd-9876",
        "otel-1234",
        "notes-12345",
        RANDOM,
    ):
        assert part not in redact(f"so {value} it is")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("API_KEY", "sk-1234"),  # 7 characters
        ("PATH", "/usr/bin:/h3Vn6KyQ1sDgP0fXz5Ru/bin"),
        ("TITLE", "h3Vn6 KyQ1s DgP0f Xz5Ru"),
        ("RANDOM19", "w5Nj8YhB2gFd6SxUe1M"),  # 19 characters
        ("DOTS", "abababababababababababababab"),  # 1 bit a character
        ("LANG", "en_US.UTF-8"),
        ("COMMIT_MESSAGE", "auth: refactored everything"),
        ("PLAIN_ADDRESS", "https://docs.example.org/tokens?page=twelve-12"),
        ("COUNTERPOINT_DB", "postgresql://counterpoint@db.example.org/counterpoint"),
        ("COUNTERPOINT_DB_PASSWORD_FILE", "/run/secrets/counterpoint-db"),
    ],
)
def test_other_values_stay(name: str, value: str) -> None:
    learn_secrets(find_secrets({name: value}))

    assert redact(f"so {value} it is") == f"so {value} it is"


@pytest.mark.parametrize("write", [str, quote, lambda s: quote(s, safe="").lower(), json.dumps])
def test_a_secret_is_found_as_providers_repeat_it(write: object) -> None:
    secret = 'pä55/"w0rd"+<é>'
    learn_secrets(find_secrets({"ODD_SECRET": secret}))
    assert callable(write)

    for said in (write(secret), f"Bearer {write(secret)}", f"/x?y={write(secret)}&z"):
        assert MASK in redact(said)
        assert "w0rd" not in redact(said)


def test_of_two_secrets_the_longer_is_found_first() -> None:
    learn_secrets(find_secrets({"A_KEY": "twin-key-1", "B_KEY": "twin-key-1-and-more"}))

    assert redact("twin-key-1-and-more, twin-key-1") == f"{MASK}, {MASK}"


def test_what_a_research_server_is_given_is_secret() -> None:
    server = ResearchServer(
        command="run",
        args=("--api-key", "argument-1", "--token=argument-2", "-H", "X-Auth: argument-3", "plain-arg-4"),
    )
    learn_secrets(server.find_secrets())
    learn_secrets(find_secret_headers({"Authorization": "Bearer header-01", "Cookie": "sid=header-02; a=b"}))
    learn_secrets(ResearchServer(url="https://me:address-1@x.example/mcp?token=address-2").find_secrets())

    said = "argument-1 argument-2 argument-3 plain-arg-4 header-01 header-02 address-1 address-2"
    assert redact(said) == f"{MASK} {MASK} {MASK} plain-arg-4 {MASK} {MASK} {MASK} {MASK}"
    assert list(find_secret_arguments(["--keyboard"])) == [""]


@pytest.mark.parametrize("size", [1, 3, 7, 50])
def test_a_secret_that_arrives_in_pieces_is_never_shown(size: int) -> None:
    learn_secrets(find_secrets({"PIECES_KEY": "piece-by-piece"}))
    said = "It is piece-by-piece, or a piece of it. piece-by"
    shown, waiting = "", ""

    for start in range(0, len(said), size):
        more, waiting = redact_pieces(waiting, said[start : start + size])
        shown += more

    assert shown == f"It is {MASK}, or a piece of it. "
    assert waiting == "piece-by"
