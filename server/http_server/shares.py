"""What callers hold at a time: of all there is, an address has half at most, an owner a quarter."""

import logging
from collections import Counter

from starlette.responses import JSONResponse
from starlette.types import Scope

from server.caller import read_caller
from server.http_server.gate import refuse
from server.web.connections import ADDRESS_PART, find_network

PARTS = (1, ADDRESS_PART, 4)
"""Of which the server, an address and an owner have one each."""

TOO_MUCH = (
    "This server has no room for more {what} now. Call again in a moment.",
    "Your address has too many {what} on this server. Wait until some have ended.",
    "You have too many {what} on this server. Wait until some have ended.",
)

HOLDERS = ("The server", "An address", "An owner")

Holders = tuple[str, str, str]
"""The server, an address, an owner."""

logger = logging.getLogger(__name__)


class Shares:
    """`total`: of `what`, for all together."""

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total = what, total
        self._held = Counter[str]()

    def take(self, holders: Holders, amount: int = 1) -> int | None:
        """Hold so much more, until `give_back`. Returns None, or the index of the holder who may not."""
        for index, (holder, parts) in enumerate(zip(holders, PARTS, strict=True)):
            if self._held[holder] + amount > self.total // parts:
                return index
        for holder in holders:
            self._held[holder] += amount
        return None

    def give_back(self, holders: Holders, amount: int = 1) -> None:
        self._held.subtract(dict.fromkeys(holders, amount))
        for holder in holders:
            if not self._held[holder]:
                del self._held[holder]

    def refuse(self, index: int, scope: Scope) -> JSONResponse:
        """`index`: what `take` returned. The rest of a body is not waited for."""
        logger.warning("%s has too many %s: requests are refused", HOLDERS[index], self.what)
        response = refuse(429 if index else 503, TOO_MUCH[index].format(what=self.what), scope)
        response.headers["retry-after"] = "1"
        response.headers["connection"] = "close"
        return response


def find_holders(scope: Scope) -> Holders:
    """Who holds what the request takes that is being answered."""
    host = scope["client"][0] if scope.get("client") else ""
    return "server", f"address {find_network(host)}", f"owner {read_caller().owner}"
