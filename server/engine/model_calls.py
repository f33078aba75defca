"""Puts one question to the model of a seat, and says what event it comes to.

There is no other way out: a model that fails, hangs, crashes or answers rubbish is an event, too. A seat
that may look things up does so before it answers: each time is a fact of its own, and it is asked again
with what was found.
"""

import asyncio
import logging
from collections.abc import Sequence

import anyio

from server.debate.facts.events import Event, Failed, Lookup, Opened, Researched
from server.debate.facts.state import Debate
from server.debate.prompts.render import render
from server.debate.prompts.tool_schemas import FunctionCall
from server.debate.replies.extract import Reply, failed
from server.debate.replies.interpret import interpret
from server.debate.rules.budget import Deadline
from server.debate.rules.decide import Call
from server.models import ModelError, OnText, Request
from server.models.registry import Models
from server.research import Research

FINDING_TOKENS = 2000
"""Who answers in data gets at least this many: a finding that is cut off is no finding."""

MOST_RESEARCH = 3
"""How often a seat may look things up before one answer; then it is asked without the tools."""

MOST_LOOKUPS = 4
"""How many things it may look up at a time."""

LEEWAY = 30
"""Seconds beyond its own limit that a model may take: its library may have to be loaded first."""

OF_THE_DEADLINE = 0.98
"""What a model gets of it, so that it is the one to say that it was too slow: to its breaker, too."""

log = logging.getLogger(__name__)


class Questions:
    def __init__(self, models: Models, research: Research | None = None, leeway: float = LEEWAY) -> None:
        self.models = models
        self.research = research
        self.leeway = leeway

    async def answer(
        self, debate: Debate, call: Call, attempts: int, until: Deadline, on_text: OnText | None = None
    ) -> Event:
        """The event that a call comes to, after so many attempts and seconds at most. Raises nothing."""
        own, tried = timeout_for(debate.setup, call), 1
        seconds = min(own, until.seconds * OF_THE_DEADLINE)
        with anyio.move_on_after(until.seconds):
            event = await self.attempt(debate, call, attempts, seconds, on_text)
            if until.seconds > own or not isinstance(event, Failed) or event.cause != "timeout":
                return event
            tried = event.attempts
        detail = f"{call.model} had not answered when the {until.of} were over"
        return failed(call, "late", detail, attempts=tried)

    async def attempt(
        self, debate: Debate, call: Call, attempts: int, seconds: float, on_text: OnText | None
    ) -> Event:
        try:
            return await self.put(debate, call, attempts, seconds, on_text)
        except ModelError as error:
            return failed(call, error.cause, error.detail, attempts=error.attempts)
        except TimeoutError:
            return failed(call, "timeout", f"{call.model} gave up waiting for an answer")
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task and task.cancelling():
                raise
            # A library let the end of a task of its own escape; nobody here has asked to stop.
            return failed(call, "crashed", f"{call.model} cancelled itself")
        except (Exception, SystemExit) as error:  # a seat's own code may raise anything: only that seat fails
            log.exception("The model %s of %s crashed", call.model, call.seat)
            return failed(call, "crashed", f"{call.model} crashed with {type(error).__name__}")

    async def put(
        self, debate: Debate, call: Call, attempts: int, seconds: float, on_text: OnText | None
    ) -> Event:
        prompt = render(debate, call)
        servers = may_ask(debate, call)
        offered = await self.research.functions(servers) if self.research and servers else ()
        if found := self.unreachable(debate, call, servers):
            return found
        request = Request(
            prompt=prompt,
            seat=call.seat,
            max_tokens=tokens_for(debate.setup, call),
            timeout=seconds,
            seed=call.seed,
            functions=(*prompt.functions, *offered),
            attempts=attempts,
        )
        # The model keeps its own time; this limit is for one that does not.
        with anyio.move_on_after(self.models.longest(call.model, seconds) + self.leeway) as limit:
            reply = await self.models.get(call.model).reply(request, on_text)
        if limit.cancelled_caught:
            raise ModelError("timeout", f"{call.model} gave no answer in {seconds:g} s")
        if offered and (lookups := await self.look_up(reply, servers)):
            return Researched(
                seat=call.seat, round=call.round, reading=call.number, lookups=lookups, usage=reply.usage
            )
        return interpret(debate, call, reply)

    def unreachable(self, debate: Debate, call: Call, servers: Sequence[str]) -> Researched | None:
        """What of a seat's research cannot be asked, as a fact that the seat is told of, once a round."""
        problems = self.research.problems(servers) if self.research and servers else ()
        if not problems or research_of(debate, call):
            return None
        lookups = tuple(Lookup(tool="servers", arguments="", failed=problem) for problem in problems)
        return Researched(seat=call.seat, round=call.round, reading=call.number, lookups=lookups)

    async def look_up(self, reply: Reply, servers: Sequence[str]) -> tuple[Lookup, ...]:
        """What a reply wants to know before it answers, looked up: all at once, and never too much."""
        assert self.research is not None
        look_up, found = self.research.look_up, dict[int, Lookup]()

        async def one(index: int, made: FunctionCall) -> None:
            found[index] = await look_up(made, servers)

        made = [call for call in reply.calls if call.name != "handoff"]
        async with anyio.create_task_group() as lookups:
            for index, call in enumerate(made[:MOST_LOOKUPS]):
                lookups.start_soon(one, index, call)
        return tuple(found[index] for index in sorted(found))


def tokens_for(setup: Opened, call: Call) -> int:
    own = next((d.max_turn_tokens for d in setup.debaters if d.name == call.seat), 0)
    most = own or setup.max_turn_tokens
    return most if call.task in ("argument", "message", "answer") else max(most, FINDING_TOKENS)


def timeout_for(setup: Opened, call: Call) -> int:
    return next((d.turn_timeout for d in setup.debaters if d.name == call.seat), 0) or setup.turn_timeout


def may_ask(debate: Debate, call: Call) -> tuple[str, ...]:
    """The research servers that a seat may ask before this answer; () when it has asked enough."""
    if call.task == "opening":
        moderator = debate.setup.moderator
        servers = moderator.tools if moderator else ()
    elif call.task == "argument":
        servers = debate.debater(call.seat).tools
    else:
        return ()
    return servers if research_of(debate, call) < MOST_RESEARCH else ()


def research_of(debate: Debate, call: Call) -> int:
    """How often something was looked up for this answer."""
    here = (call.seat, call.round, call.number)
    return sum((made.seat, made.round, made.reading) == here for made in debate.research)
