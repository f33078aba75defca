"""An issuer of tokens on loopback: its configuration, its keys, and the tokens that it signs."""

import json
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import jwt
import uvicorn
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

AUDIENCE = "https://debates.example/mcp"

RSA_KEY = rsa.generate_private_key(65537, 2048)
SHORT_KEY = rsa.generate_private_key(65537, 1024)  # noqa: S505  (the point of it)
CURVES = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}


class Issuer:
    """`keys`: those that it publishes now. `asked`: how often it was asked for them."""

    def __init__(self, address: str) -> None:
        self.address, self.asked, self.is_down = address, 0, False
        self.private: dict[str, Any] = {"r": RSA_KEY}
        self.configuration: dict[str, Any] = {"issuer": address, "jwks_uri": f"{address}/keys"}
        self.keys: list[Any] = [publish("r", RSA_KEY)]

    def add(self, key_id: str, key: Any, **more: Any) -> None:
        self.private[key_id] = key
        self.keys.append(publish(key_id, key, **more))

    def sign(
        self, key_id: str = "r", algorithm: str = "RS256", header: dict[str, Any] | None = None, **claims: Any
    ) -> str:
        """A good token, but for what is given. A claim that is None is left out."""
        now = int(time.time())
        own = {"iss": self.address, "aud": AUDIENCE, "sub": "alice", "exp": now + 600, "scope": "debate"}
        payload = {name: value for name, value in (own | {"iat": now} | claims).items() if value is not None}
        return jwt.encode(payload, self.private[key_id], algorithm, headers={"kid": key_id, **(header or {})})

    async def configure(self, _: Request) -> Response:
        return Response(status_code=500) if self.is_down else JSONResponse(self.configuration)

    async def publish(self, _: Request) -> Response:
        self.asked += 1
        return JSONResponse({"keys": self.keys})


def publish(key_id: str, key: Any, **more: Any) -> dict[str, Any]:
    algorithm = RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else ECAlgorithm
    return {**json.loads(algorithm.to_jwk(key.public_key())), "kid": key_id, "use": "sig", **more}


@asynccontextmanager
async def open_issuer() -> AsyncIterator[Issuer]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        issuer = Issuer(f"http://127.0.0.1:{listener.getsockname()[1]}")
        routes = [
            Route("/.well-known/openid-configuration", issuer.configure),
            Route("/keys", issuer.publish),
        ]
        config = uvicorn.Config(
            Starlette(routes=routes), log_level="error", timeout_graceful_shutdown=0, lifespan="off"
        )
        server = uvicorn.Server(config)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listener])
            yield issuer
            server.should_exit = True
