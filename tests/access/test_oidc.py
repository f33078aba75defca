"""Tokens of an issuer: only those that it signed, for this audience, for now, in a way that nobody else can."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from server.access.oidc import (
    KEEP_SECONDS,
    LAPSE_SECONDS,
    RETRY_SECONDS,
    IssuerUnavailableError,
    OidcTokens,
    find_scopes,
)
from server.settings import InvalidSettingsError, Settings
from tests.support.key_server import AUDIENCE, CURVES, RSA_KEY, SHORT_KEY, Issuer, open_issuer, publish

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14")]


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    async with open_issuer() as opened:
        yield opened


@pytest.fixture
def tokens(issuer: Issuer) -> OidcTokens:
    return OidcTokens(issuer.address, AUDIENCE)


async def test_a_token_of_the_issuer_tells_owner_scopes_and_end(issuer: Issuer, tokens: OidcTokens) -> None:
    verified = await tokens.verify_token(issuer.sign(azp="laptop", exp=int(time.time()) + 100))

    assert verified is not None
    assert (verified.subject, verified.scopes, verified.client_id) == ("alice", ["debate"], "laptop")
    assert verified.expires_at is not None
    assert 90 < verified.expires_at - time.time() < 110
    assert verified.token == ""


@pytest.mark.parametrize("algorithm", [*CURVES, "RS256", "RS384", "RS512"])
async def test_every_algorithm_with_a_public_key_is_taken(
    issuer: Issuer, tokens: OidcTokens, algorithm: str
) -> None:
    if algorithm in CURVES:
        issuer.add("e", ec.generate_private_key(CURVES[algorithm]))
    token = issuer.sign("e" if algorithm in CURVES else "r", algorithm)

    assert await tokens.verify_token(token)


def encode(part: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")


def confuse(issuer: Issuer) -> str:
    """A token that is signed with the public key as if it were a secret, which everybody knows."""
    secret = RSA_KEY.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    claims = jwt.decode(issuer.sign(), options={"verify_signature": False})
    signed = f"{encode({'alg': 'HS256', 'typ': 'JWT', 'kid': 'r'})}.{encode(claims)}"
    digest = hmac.new(secret, signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


def unsign(issuer: Issuer, algorithm: str) -> str:
    claims = jwt.decode(issuer.sign(), options={"verify_signature": False})
    return f"{encode({'alg': algorithm, 'kid': 'r'})}.{encode(claims)}."


NOW = int(time.time())

REFUSED = {
    "expired": lambda i: i.sign(exp=NOW - 60),
    "without an end": lambda i: i.sign(exp=None),
    "not valid yet": lambda i: i.sign(nbf=NOW + 3_600),
    "issued in the future": lambda i: i.sign(iat=NOW + 3_600),
    "for another audience": lambda i: i.sign(aud="https://other.example/mcp"),
    "for no audience": lambda i: i.sign(aud=None),
    "of another issuer": lambda i: i.sign(iss="https://other.example"),
    "of no issuer": lambda i: i.sign(iss=None),
    "without an owner": lambda i: i.sign(sub=None),
    "whose owner is no name": lambda i: i.sign(sub="a\nb"),
    "whose owner is this machine's": lambda i: i.sign(sub="local"),
    "with an unknown key": lambda i: i.sign(header={"kid": "x"}),
    "that is no access token": lambda i: i.sign(header={"typ": "logout+jwt"}),
    "that wants what nobody knows": lambda i: i.sign(header={"crit": ["b64"], "b64": True}),
    "unsigned": lambda i: unsign(i, "none"),
    "unsigned, in capitals": lambda i: unsign(i, "NONE"),
    "with an empty signature": lambda i: unsign(i, "RS256"),
    "signed with the public key as a secret": confuse,
    "changed": lambda i: i.sign()[:-8] + "AAAAAAAA",
    "with other claims": lambda i: ".".join(
        [i.sign().split(".")[0], i.sign(sub="bob").split(".")[1], i.sign().split(".")[2]]
    ),
    "no token": lambda _: "a.b.c",
    "empty": lambda _: "",
    "deep": lambda _: f"{base64.urlsafe_b64encode(b'[' * 9_000).decode().rstrip('=')}.e30.",
}


@pytest.mark.parametrize("name", REFUSED)
async def test_a_token_is_refused_that_is(issuer: Issuer, tokens: OidcTokens, name: str) -> None:
    assert await tokens.verify_token(issuer.sign())
    assert await tokens.verify_token(REFUSED[name](issuer)) is None  # type: ignore[no-untyped-call]


async def test_a_key_that_a_token_brings_along_is_not_used(issuer: Issuer, tokens: OidcTokens) -> None:
    own = rsa.generate_private_key(65537, 2048)
    issuer.private["mine"] = own
    brought = {"jwk": publish("mine", own), "jku": f"{issuer.address}/keys"}

    assert await tokens.verify_token(issuer.sign("mine", header=brought)) is None
    assert await tokens.verify_token(issuer.sign("mine", header={**brought, "kid": "r"})) is None


@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
async def test_a_key_for_something_else_or_too_short_is_not_used(issuer: Issuer, tokens: OidcTokens) -> None:
    issuer.add("short", SHORT_KEY)
    issuer.add("sealing", RSA_KEY, use="enc")
    issuer.add("other", RSA_KEY, alg="RS512")
    issuer.add("curve", ec.generate_private_key(CURVES["ES384"]))
    issuer.keys += [
        {"kid": "broken", "kty": "RSA", "n": "?"},
        "no key",
        {"kty": "oct", "kid": "o", "k": "AA"},
    ]

    for key_id in ("short", "sealing", "other"):
        assert await tokens.verify_token(issuer.sign(key_id)) is None
    assert await tokens.verify_token(issuer.sign("other", "RS512"))
    assert await tokens.verify_token(issuer.sign("r", header={"kid": "broken"})) is None
    assert await tokens.verify_token(issuer.sign("r", header={"kid": "o"})) is None


async def test_a_token_that_names_no_key_is_taken_where_there_is_one_only(issuer: Issuer) -> None:
    assert await OidcTokens(issuer.address, AUDIENCE).verify_token(issuer.sign(header={"kid": ""}))
    issuer.add("second", RSA_KEY)
    assert await OidcTokens(issuer.address, AUDIENCE).verify_token(issuer.sign(header={"kid": ""})) is None


async def test_keys_are_kept_and_a_new_one_is_found_but_not_asked_for_again_and_again(
    issuer: Issuer, tokens: OidcTokens
) -> None:
    now = 1_000.0
    tokens.keys.clock = lambda: now
    for _ in range(3):
        assert await tokens.verify_token(issuer.sign())
    assert issuer.asked == 1
    issuer.add("new", rsa.generate_private_key(65537, 2048))
    now += RETRY_SECONDS + 1
    assert await tokens.verify_token(issuer.sign("new"))
    assert issuer.asked == 2
    for _ in range(5):
        assert await tokens.verify_token(issuer.sign(header={"kid": "invented"})) is None
    assert issuer.asked == 2
    issuer.keys = issuer.keys[1:]
    now += KEEP_SECONDS + 1
    assert await tokens.verify_token(issuer.sign()) is None


async def test_an_issuer_that_is_away_for_a_while_locks_nobody_out_and_for_a_day_everybody(
    issuer: Issuer, tokens: OidcTokens
) -> None:
    now = 1_000.0
    tokens.keys.clock = lambda: now
    assert await tokens.verify_token(issuer.sign())
    issuer.is_down = True
    now += KEEP_SECONDS + 1
    assert await tokens.verify_token(issuer.sign())
    now += LAPSE_SECONDS
    with pytest.raises(IssuerUnavailableError):
        await tokens.verify_token(issuer.sign())


@pytest.mark.parametrize(
    "configuration",
    [{"issuer": "https://other.example"}, {"jwks_uri": "http://other.example/keys"}, {"jwks_uri": None}],
)
async def test_a_configuration_that_is_not_the_issuers_is_not_followed(
    issuer: Issuer, tokens: OidcTokens, configuration: dict[str, Any]
) -> None:
    issuer.configuration |= configuration
    with pytest.raises(IssuerUnavailableError):
        await tokens.verify_token(issuer.sign())


async def test_another_claim_names_the_owner_where_that_is_set(issuer: Issuer) -> None:
    tokens = OidcTokens(issuer.address, AUDIENCE, "email")
    verified = await tokens.verify_token(issuer.sign(email="alice@example.org"))

    assert verified is not None
    assert verified.subject == "alice@example.org"
    assert await tokens.verify_token(issuer.sign()) is None


@pytest.mark.parametrize(
    ("claims", "scopes"),
    [
        ({"scope": "read debate other"}, ["read", "debate"]),
        ({"scp": ["counterpoint:read", "counterpoint.debate", 3]}, ["read", "debate"]),
        ({"scope": "user.read readonly xdebate counterpoint-admin"}, []),
        ({"scope": 3}, []),
        ({}, []),
    ],
)
def test_scopes_are_taken_by_their_names_alone(claims: dict[str, Any], scopes: list[str]) -> None:
    assert find_scopes(claims) == scopes


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"oidc_issuer": "https://id.example"}, "needs oidc_audience"),
        ({"oidc_issuer": "http://id.example", "oidc_audience": "a"}, "must begin with https://"),
    ],
)
def test_an_issuer_is_not_used_without_an_audience_or_in_the_open(
    settings: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InvalidSettingsError, match=problem):
        OidcTokens.find(Settings(**settings))
    assert OidcTokens.find(Settings()) is None
