"""Access tokens of an OpenID Connect issuer: JWTs, verified with its published keys (RFC 9068, RFC 8725).

The issuer, its audience and the kind of key are those of the settings; what a token says about how to verify it is
followed only as far as choosing among them.
"""

import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import jwt
from mcp.server.auth.provider import AccessToken

from server.access.hosts import LOOPBACK
from server.caller import LOCAL, SCOPES, Caller
from server.debate.facts.errors import DebateError
from server.settings import PREFIX, InvalidSettingsError, Settings

ALGORITHMS: Mapping[str, tuple[str, str]] = {
    "RS256": ("RSA", ""),
    "RS384": ("RSA", ""),
    "RS512": ("RSA", ""),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
}
"""Kind of key and curve, by algorithm. None with a secret that both sides know: the key would be public."""

TYPES = ("", "jwt", "at+jwt", "application/at+jwt")
"""Of an access token. An issuer signs other things with the same keys."""

MIN_RSA_BITS = 2048
LEEWAY = 5  # seconds by which the clocks of issuer and server may differ
KEEP_SECONDS = 600.0  # until keys are asked for again
RETRY_SECONDS = 30.0  # until they are asked for again because of a key that is not among them
LAPSE_SECONDS = 86_400.0  # until keys are forgotten whose issuer cannot be asked
FETCH_SECONDS = 5.0

_SCOPE = re.compile(rf"(?:counterpoint[:/.])?({'|'.join(SCOPES)})")

logger = logging.getLogger(__name__)


class IssuerUnavailableError(DebateError):
    """The keys of the issuer cannot be read, so that nobody can say whether a token is good."""


class IssuerKeys:
    """The keys that an issuer publishes: found by discovery, kept, and asked for again when they change.

    `clock`: seconds.
    """

    def __init__(self, issuer: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.issuer, self.clock = issuer, clock
        self._rows: Sequence[Mapping[str, Any]] = ()
        self._keys: dict[tuple[str, str], jwt.PyJWK | None] = {}  # by id and algorithm
        self._read_at = self._tried_at = -LAPSE_SECONDS
        self._lock = anyio.Lock()

    async def find(self, key_id: str, algorithm: str) -> jwt.PyJWK | None:
        """The key with this id ("" for the only one there is), if the algorithm goes with it.

        Raises IssuerUnavailableError.
        """
        if self._is_due(key_id):
            async with self._lock:
                if self._is_due(key_id):
                    await self._read()
        if self.clock() - self._read_at > LAPSE_SECONDS:
            raise IssuerUnavailableError("The keys of the issuer of tokens cannot be read.")
        if (key_id, algorithm) not in self._keys:
            row = self._find_row(key_id)
            self._keys[key_id, algorithm] = build_key(row, algorithm) if row else None
        return self._keys[key_id, algorithm]

    def _is_due(self, key_id: str) -> bool:
        """An unknown key may be a new one, or invented: the issuer is not asked for each of those."""
        now = self.clock()
        is_old = now - self._read_at > KEEP_SECONDS or self._find_row(key_id) is None
        return is_old and now - self._tried_at > RETRY_SECONDS

    def _find_row(self, key_id: str) -> Mapping[str, Any] | None:
        if not key_id:
            return self._rows[0] if len(self._rows) == 1 else None
        return next((row for row in self._rows if row.get("kid") == key_id), None)

    async def _read(self) -> None:
        self._tried_at = self.clock()
        try:
            async with httpx2.AsyncClient(timeout=FETCH_SECONDS) as web:
                configuration = await read_json(
                    web, f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"
                )
                rows = (await read_json(web, find_address(configuration, self.issuer))).get("keys")
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            logger.warning(
                "The keys of %s cannot be read: %s", self.issuer, str(error) or type(error).__name__
            )
            return
        self._rows = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
        self._keys, self._read_at = {}, self.clock()


async def read_json(web: httpx2.AsyncClient, address: str) -> dict[str, Any]:
    """Raises HTTPError, ValueError."""
    response = await web.get(address, headers={"accept": "application/json"})
    response.raise_for_status()
    document = response.json()
    if not isinstance(document, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004  (of the issuer, not of a caller here)
    return document


def find_address(configuration: Mapping[str, Any], issuer: str) -> str:
    """Where the keys are. Raises ValueError for the configuration of somebody else."""
    if configuration.get("issuer") != issuer:
        raise ValueError("its configuration names another issuer")
    address = str(configuration.get("jwks_uri"))
    require_safe_address(address)
    return address


def require_safe_address(address: str) -> None:
    """Raises ValueError for an address that anybody on the way could answer for."""
    parts = urlsplit(address)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
        raise ValueError("it must begin with https://")


def build_key(row: Mapping[str, Any], algorithm: str) -> jwt.PyJWK | None:
    """None for a key that is for something else, or too short."""
    kind, curve = ALGORITHMS[algorithm]
    is_for_it = row.get("use", "sig") == "sig" and row.get("alg", algorithm) == algorithm
    if row.get("kty") != kind or not is_for_it or (curve and row.get("crv") != curve):
        return None
    try:
        key = jwt.PyJWK.from_dict(dict(row), algorithm)
    except (jwt.PyJWTError, ValueError, TypeError):
        return None
    return key if kind == "EC" or key.key.key_size >= MIN_RSA_BITS else None


@dataclass
class OidcTokens:
    """Verifies the access tokens of one issuer for one audience."""

    issuer: str
    audience: str
    owner_claim: str = "sub"
    keys: IssuerKeys = field(init=False)

    def __post_init__(self) -> None:
        self.keys = IssuerKeys(self.issuer)

    @classmethod
    def find(cls, settings: Settings) -> "OidcTokens | None":
        """As the settings say; None without an issuer. Raises InvalidSettingsError."""
        if not settings.oidc_issuer:
            return None
        if not settings.oidc_audience:
            raise InvalidSettingsError(
                f"The setting oidc_issuer ({PREFIX}OIDC_ISSUER) needs oidc_audience ({PREFIX}OIDC_AUDIENCE): tokens "
                "for another service would be taken else."
            )
        try:
            require_safe_address(settings.oidc_issuer)
        except ValueError as error:
            raise InvalidSettingsError(f"The setting oidc_issuer ({PREFIX}OIDC_ISSUER): {error}.") from None
        return cls(settings.oidc_issuer, settings.oidc_audience, settings.oidc_owner_claim)

    async def verify_token(self, token: str) -> AccessToken | None:
        """Who may use it; None for a token that is not good. Raises IssuerUnavailableError."""
        try:
            header = jwt.get_unverified_header(token)
            algorithm, key_id = str(header.get("alg")), str(header.get("kid", ""))
            if algorithm not in ALGORITHMS or str(header.get("typ", "")).lower() not in TYPES:
                return None
            key = await self.keys.find(key_id, algorithm)
            if key is None:
                return None
            claims = jwt.decode(
                token,
                key.key,
                algorithms=[algorithm],
                issuer=self.issuer,
                audience=self.audience,
                leeway=LEEWAY,
                options={"require": ["exp", "iss", "aud"]},
            )
            return self._build(claims)
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError):
            return None

    def _build(self, claims: Mapping[str, Any]) -> AccessToken:
        """Raises ValueError for a token that names no owner, or the one who needs no token."""
        owner = claims.get(self.owner_claim)
        if not isinstance(owner, str) or owner == LOCAL.owner:
            raise ValueError("no owner")
        Caller(owner, frozenset())
        return AccessToken(
            token="",
            client_id=str(claims.get("client_id") or claims.get("azp") or self.issuer),
            scopes=find_scopes(claims),
            expires_at=int(claims["exp"]) + LEEWAY,
            resource=self.audience,
            subject=owner,
            claims={"iss": self.issuer},
        )


def find_scopes(claims: Mapping[str, Any]) -> list[str]:
    """Ours among those of a token: as they are, or behind the name of this program, as in `counterpoint:read`."""
    scopes = claims.get("scope", claims.get("scp", ""))
    names = scopes.split() if isinstance(scopes, str) else scopes if isinstance(scopes, list) else []
    matches = (_SCOPE.fullmatch(name) for name in names if isinstance(name, str))
    return list(dict.fromkeys(match[1] for match in matches if match))
