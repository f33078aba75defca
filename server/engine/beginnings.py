"""Prompts on one model begin alike, and providers sell what they have read before for a tenth.

They can do so once the reply of the first reader begins. So where calls on one model are made together and what they
have in common is long, the first goes ahead, and the others follow at its first words. What a provider was sent is
remembered here for as long as any of them keeps it, by model and text: also for forks, mirrors and other debates about
the same document. Nothing depends on it but money.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from typing import NamedTuple

import anyio
from pydantic_core import to_json

from server.debate.rules.sharing import LONG_TOKENS, Sharing
from server.debate.rules.windows import estimate_tokens
from server.models import OnText, Request
from server.models.providers.caches import PromptCache

KEPT_SECONDS = 300.0
"""How long providers keep what nobody reads: five minutes at least."""

LONGEST_LEAD = 5.0
"""Seconds: a long prompt is read by then, if its reply is not streamed or begins with hidden thoughts."""

MOST_KNOWN = 1_000


@dataclass(eq=False)
class Beginning:
    """What a call sent that no other had sent before it."""

    tokens: int
    used_at: float
    is_read: anyio.Event = field(default_factory=anyio.Event)  # or the call is over

    @property
    def is_awaited(self) -> bool:
        """Whether calls that begin alike wait until a provider has read it."""
        return self.tokens >= LONG_TOKENS and not self.is_read.is_set()


class Place(NamedTuple):
    """Where a paragraph of a prompt ends, with all before it."""

    end: int  # in characters of the last message
    tokens: int
    key: bytes


@dataclass(eq=False)
class Beginnings:
    """The beginnings that were sent to providers lately. One for each process. Times are in seconds."""

    kept_seconds: float = KEPT_SECONDS
    longest_lead: float = LONGEST_LEAD
    most_known: int = MOST_KNOWN
    _known: dict[bytes, Beginning] = field(default_factory=dict)

    async def follow(
        self, name: str, request: Request, cache: PromptCache, find_sharing: Callable[[], Sharing]
    ) -> tuple[Request, Beginning | None]:
        """(the request, with marks for the provider's cache; what it is the first to send, for `lead`).

        Waits for the call that goes ahead, if there is one.
        """
        places = list_places(name, request, with_schema=False)
        if not places:
            return request, None
        sharing, last, known = find_sharing(), places[-1], self.find(places)
        if cache.reads_schema and request.prompt.schema and not request.functions:
            is_shared = sharing.is_shared or known is not None
            if is_shared and sharing.may_omit_schema and request.prompt.strict:
                request = replace(request, sends_schema=False)
            else:
                places = list_places(name, request, with_schema=True)
                last, known = places[-1], self.find(places)
        now, own = anyio.current_time(), None
        marked = [known] if known else []
        if known:
            self._known[known.key].used_at = now
        if sharing.is_shared and last != known:
            own = Beginning(last.tokens - (known.tokens if known else 0), now)
            documents = [each for each in places if each.end == request.prompt.documents]
            new = [each for each in (*documents, last) if not known or each.end > known.end]
            marked += new
            self.forget_old(now)
            self._known |= {each.key: own for each in new}
        if known and (first := self._known[known.key]).is_awaited:
            with anyio.move_on_after(self.longest_lead):
                await first.is_read.wait()
        return replace(request, marks=tuple(sorted({each.end for each in marked}))), own

    @contextmanager
    def lead(self, own: Beginning | None, on_text: OnText | None) -> Iterator[OnText | None]:
        """Around a call that was first to send a beginning: others follow at its first words, or when it is over."""
        if own is None:
            yield on_text
            return

        def pass_on(piece: str) -> None:
            own.is_read.set()
            if piece and on_text:
                on_text(piece)

        try:
            yield pass_on if on_text or own.tokens >= LONG_TOKENS else None
        except BaseException:
            if not own.is_read.is_set():
                self._known = {key: one for key, one in self._known.items() if one is not own}
            raise
        finally:
            own.is_read.set()

    def find(self, places: list[Place]) -> Place | None:
        """The longest of these that a provider has read, or is about to read for a call that is waited for."""
        oldest = anyio.current_time() - self.kept_seconds
        for place in reversed(places):
            one = self._known.get(place.key)
            if one and one.used_at > oldest and (one.is_read.is_set() or one.is_awaited):
                return place
        return None

    def forget_old(self, now: float) -> None:
        if len(self._known) >= self.most_known:
            oldest = now - self.kept_seconds
            self._known = {key: one for key, one in self._known.items() if one.used_at > oldest}


def list_places(name: str, request: Request, *, with_schema: bool) -> list[Place]:
    """The places of a request's prompt from which on providers keep it, each with a key for all up to there."""
    prompt = request.prompt
    if estimate_tokens(message.content for message in prompt.messages) < LONG_TOKENS:
        return []
    head = (name, prompt.schema if with_schema else None, [asdict(one) for one in request.functions])
    digest = sha256(to_json(head))
    places, start, tokens = [], 0, 0
    for message in prompt.messages[:-1]:
        digest.update(message.content.encode())
        tokens += estimate_tokens([message.content])
    text = prompt.messages[-1].content
    for end in prompt.list_record_ends():
        part, start = text[start:end], end
        digest.update(part.encode())
        tokens += estimate_tokens([part])
        if tokens >= LONG_TOKENS:
            places.append(Place(end, tokens, digest.copy().digest()))
    return places
