"""The questions of one debate, put only as long as its lease is this process's.

A process that was asleep goes on where it stopped, and another may be putting the same questions by then.
"""

import anyio

from server.debate.events import Event
from server.debate.limits import Deadline
from server.debate.rules import Call
from server.debate.state import Debate
from server.leases import Leases
from server.models import OnText
from server.questions import Questions


class Leased(Questions):
    def __init__(self, questions: Questions, leases: Leases, debate_id: str) -> None:
        super().__init__(questions.models, questions.research, questions.leeway)
        self.leases = leases
        self.debate_id = debate_id

    async def answer(
        self, debate: Debate, call: Call, attempts: int, until: Deadline, on_text: OnText | None = None
    ) -> Event:
        if not await self.leases.holds(self.debate_id):
            await anyio.sleep_forever()  # until whoever drives the debate is stopped, at the next beat
        return await super().answer(debate, call, attempts, until, on_text)
