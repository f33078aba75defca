"""Two models of your own. The entry points in pyproject.toml give them their names."""

from collections.abc import Callable

from counterpoint import ModelError, OnText, Reply, Request, Usage

FACTS = {
    "vans": (
        "The depot has 42 vans, and 31 of them never drive more than 120 km a day.",
        "Night tariffs are 40 % below the day's, and the vans stand still from 20:00 to 05:00.",
    ),
}


class FactBook:
    """An object with a `reply` method: it sees the whole request, streams, and reports its cost."""

    def __init__(self, topic: str) -> None:
        self.facts = FACTS.get(topic, ())

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        if not self.facts:
            raise ModelError("bad_request", f"The fact book knows only about: {', '.join(FACTS)}.")
        text = self.facts[(request.prompt.summary.round - 1) % len(self.facts)]
        if on_text:
            on_text(text)
        return Reply(text, Usage(model="fact-book", cost_usd="0"))


def make_fact_book(topic: str) -> FactBook:
    """For the model `fact-book/vans`, the topic is `vans`."""
    return FactBook(topic)


def make_parrot(name: str) -> Callable[[list[dict[str, str]]], str]:
    """A function from messages to text is enough."""

    def repeat_last_line(messages: list[dict[str, str]]) -> str:
        return f"{name or 'Parrot'} says: {messages[-1]['content'].splitlines()[-1]}"

    return repeat_last_line
