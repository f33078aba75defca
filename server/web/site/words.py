"""The words of models while they are written, in debates that this process runs. Nothing of it is recorded."""

import json
from collections.abc import Callable

from server.debate.facts.errors import DebateError
from server.debate.rules.calls import pending_calls
from server.debate.views.writing import show_piece
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.redaction import redact_error

MAX_KEPT = 4_000  # characters of an answer that is being written
MAX_SHOWN = 600  # of them, the last
MAX_SEATS = 60  # that write at once; those that wrote last are kept


class Words:
    """`number` grows with each `event`, which is about everything that is being written."""

    def __init__(self, manager: DebateManager) -> None:
        self.number, self.event = 0, b""
        self._manager = manager
        self._pieces: dict[tuple[str, str], str] = {}  # by debate and seat
        self._versions: dict[str, int] = {}  # of debates that write
        self._is_new = False
        self._end: Callable[[], None] | None = None
        manager.store.subscribe(self._drop_answered)

    def listen(self, *, wanted: bool) -> None:
        """Take words while somebody follows: replies are streamed only while somebody takes them."""
        if wanted and not self._end:
            self._end = self._manager.subscribe_to_text(self._take)
        elif not wanted and self._end:
            self._end()
            self._end, self._pieces, self._is_new = None, {}, True

    async def update(self) -> bool:
        """Build the event anew; False if nothing was written or answered since."""
        if not self._is_new:
            return False
        self._is_new, shown = False, dict[str, dict[str, str]]()
        for (debate_id, seat), piece in [*self._pieces.items()]:
            try:
                debate = (await self._manager.load(debate_id)).debate
            except DebateError:  # the feed tells of it
                continue
            calls = () if debate.ended else pending_calls(debate)
            if call := next((call for call in calls if call.seat == seat), None):
                text = redact_error(show_piece(debate, call, piece))
                shown.setdefault(debate_id, {})[seat] = text[-MAX_SHOWN:]
        self.number += 1
        self.event = f"event: words\ndata: {json.dumps(shown)}\n\n".encode()
        return True

    def _take(self, debate_id: str, seat: str, chunk: str) -> None:
        key = (debate_id, seat)
        self._pieces[key] = (self._pieces.pop(key, "") + chunk)[-MAX_KEPT:]
        if len(self._pieces) > MAX_SEATS:
            del self._pieces[next(iter(self._pieces))]
        self._is_new = True

    def _drop_answered(self, snapshot: DebateSnapshot) -> None:
        seen = self._versions.get(snapshot.id, 0)
        for entry in snapshot.entries[seen:]:
            if self._pieces.pop((snapshot.id, getattr(entry.event, "seat", "")), None) is not None:
                self._is_new = True
        self._versions[snapshot.id] = snapshot.debate.version
        if snapshot.debate.ended:
            del self._versions[snapshot.id]
