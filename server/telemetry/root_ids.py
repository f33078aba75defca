"""The ids of roots: random, but for the first one of a debate, whose ids every process can tell."""

from contextvars import ContextVar
from hashlib import sha256

from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

Ids = tuple[int, int]  # of a trace, of a span

next_ids: ContextVar[Ids | None] = ContextVar("ids of the next root", default=None)


class RootIds(RandomIdGenerator):
    def generate_trace_id(self) -> int:
        ids = next_ids.get()
        return ids[0] if ids else super().generate_trace_id()

    def generate_span_id(self) -> int:
        ids = next_ids.get()
        return ids[1] if ids else super().generate_span_id()


def derive_ids(debate_id: str) -> Ids:
    digest = sha256(f"counterpoint debate {debate_id}".encode()).digest()
    return int.from_bytes(digest[:16]), int.from_bytes(digest[16:24])
