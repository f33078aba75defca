"""A seat that is your own code: any object with a `reply` can debate or judge.

    python examples/own_seat.py

Here one debater looks its answers up in a table of facts; the other is the shipped scripted model. The
debate is kept in a database like every other.
"""

import sys
import tempfile
from pathlib import Path

import anyio

from server.compose import open_manager
from server.debate.commands.requests import DebateRequest, DebaterInput, JudgesInput, OptionsInput
from server.debate.views import markdown
from server.models import OnText, Reply, Request, Usage
from server.settings import Settings

FACTS = (
    "The depot has 42 vans, and 31 of them never drive more than 120 km a day.",
    "Night tariffs are 40 % below the day's, and the vans stand still from 20:00 to 05:00.",
)


class FactBook:
    """Says one fact a round."""

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        text = FACTS[(request.prompt.summary.round - 1) % len(FACTS)]
        if on_text:
            on_text(text)
        return Reply(text, Usage(model="fact-book", cost_usd="0"))


REQUEST = DebateRequest(
    question="Should the depot switch to electric vans?",
    format="verdict",
    debaters=[
        DebaterInput(name="Facts", stance="switch now", model="fact-book"),
        DebaterInput(name="Caution", stance="wait a year", model="scripted"),
    ],
    options=OptionsInput(judges=JudgesInput(models=["scripted"])),
    run=True,
)


async def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(db=str(Path(folder) / "debates.db"))
        async with open_manager(settings, {"fact-book": FactBook()}) as hall:
            case = await hall.start(REQUEST, actor="example")
            case = await hall.follow(case.id, wait=60)
            print(markdown.render_transcript(case.debate, case.entries))
            return 0 if case.status == "concluded" else 1


if __name__ == "__main__":
    sys.exit(anyio.run(main))
