"""Calls the model of a seat once and returns the resulting event.

A model that fails, hangs, crashes or returns an unusable reply results in an event too. A seat with research
tools may use them first: the results are recorded as an event, and the seat is called again with them.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from hashlib import sha256
from time import monotonic
from typing import Any

import anyio
import rfc8785
from anyio import to_thread
from pydantic_core import to_json

from server.debate.ballots.convergence import build_measurement, list_round_ballots
from server.debate.documents.folding import fold_document
from server.debate.documents.sections import search_passage
from server.debate.facts.answers import Lookup, Researched
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Event, Failed
from server.debate.facts.setup.seats import AWAITED, CLIENT
from server.debate.machine.interpret import interpret
from server.debate.machine.render import render
from server.debate.records.answers import check_answer
from server.debate.replies.extract import build_failure
from server.debate.rules.budget import Deadline
from server.debate.rules.calls import Call
from server.debate.rules.sharing import find_sharing
from server.debate.state.debate import Debate
from server.debate.state.seats import find_models, find_own_models, find_tools
from server.engine.answer_room import add_usage, find_debater, find_rooms
from server.engine.beginnings import Beginnings
from server.engine.database.cache import AnswerReuse, KeptAnswer
from server.engine.turnstile import Turnstile
from server.models import Model, ModelError, OnText, Reply, Request, Usage
from server.models.client import WithdrawnError
from server.models.registry import ModelRegistry
from server.redaction import MODEL_FIELDS, redact, redact_model, redact_pieces
from server.research import Research
from server.settings import package_version

MAX_LOOKUP_BATCHES = 3  # for each answer; after that the seat is called without tools
MAX_LOOKUPS_PER_BATCH = 4  # further function calls in one reply are ignored
LEEWAY = 30  # seconds
MODEL_DEADLINE_SHARE = 0.98
"""Share of a deadline that the model gets as its timeout, so that its circuit breaker notices the timeout."""


MAX_QUICK_LENGTH = 50_000
"""Characters of a reply that are read without a thread; to read a longer one, or to check a result against its schema,
may take half a second, in which all debates would stand still."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CallTerms:
    """What a call may take, whose debate it is for, and who has to do with it besides the model of its seat."""

    max_attempts: int  # requests
    deadline: Deadline
    owner: str
    on_text: OnText | None = None  # told of each piece of the reply
    client: Model | None = None  # the client's own model, if it can be asked
    reuse: AnswerReuse | None = None  # answers of other debates


@dataclass
class ModelCaller:
    """Calls models for seats. One for each process."""

    models: ModelRegistry
    research: Research
    leeway: float = LEEWAY
    """Seconds that a model may take beyond its own timeout: its library may have to be loaded first."""
    beginnings: Beginnings = field(default_factory=Beginnings)  # of prompts that providers keep
    turnstile: Turnstile = field(default_factory=Turnstile)  # for each step that takes long
    long_thinkers: set[str] = field(
        default_factory=set
    )  # models that did not come to an answer in the usual room

    def prepare(self, debate: Debate) -> None:
        """Begin to load what the models of a debate need."""
        self.models.prepare(list_models(debate))

    def find_loading(self, debate: Debate) -> str:
        """The library that is being loaded, and that this debate waits for; "" if there is none."""
        return self.models.find_loading(list_models(debate))

    async def call(self, debate: Debate, call: Call, terms: CallTerms) -> Event | None:
        """The event that results from a call, without secrets; None where nobody was asked. Raises nothing."""
        if terms.on_text:
            terms = replace(terms, on_text=withhold_secrets(terms.on_text))
        try:
            event = await self.ask_within_deadline(debate, call, terms)
        except WithdrawnError:
            return None
        event = redact_model(event, MODEL_FIELDS if redact(call.model) != call.model else ())
        try:
            check_answer(debate, event, call)
        except InvalidRequestError as error:  # models of users may say anything of themselves
            return build_failure(call, "crashed", f"{call.model} answered what cannot be recorded: {error}")
        return event

    async def ask_within_deadline(self, debate: Debate, call: Call, terms: CallTerms) -> Event:
        """The event that results from a call: a failure where the model fails, is too slow or crashes.

        Raises:
            WithdrawnError: nobody was asked.
        """
        debater, deadline = find_debater(debate, call), terms.deadline
        own = (debater and debater.turn_timeout) or debate.setup.turn_timeout
        seconds = min(own, deadline.seconds_left * MODEL_DEADLINE_SHARE)
        attempts, usage = 1, None
        with anyio.move_on_after(deadline.seconds_left):
            try:
                if call.task == "measurement":
                    return await self.measure(debate, call, seconds, terms.owner)
                return await self.ask_with_lookups(debate, call, terms, seconds)
            except WithdrawnError:
                raise
            except ModelError as error:
                attempts = 1 if error.usage else error.attempts  # which usage counts itself
                failure = build_failure(call, error.cause, error.detail, error.usage, attempts=attempts)
            except TimeoutError:
                failure = build_failure(call, "timeout", f"{call.model} gave up waiting for an answer")
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task and task.cancelling():
                    raise
                # The cancellation of a library's own task; this task was not cancelled.
                failure = build_failure(call, "crashed", f"{call.model} cancelled itself")
            except (Exception, SystemExit) as error:  # custom models may raise anything
                logger.exception("The model %s of %s crashed", call.model, call.seat)
                failure = build_failure(call, "crashed", f"{call.model} crashed with {type(error).__name__}")
            if failure.cause != "timeout" or deadline.seconds_left > own:
                return failure
            attempts, usage = failure.attempts, failure.usage
        detail = f"{call.model} had not answered when the {deadline.description} were over"
        return build_failure(call, "late", detail, usage, attempts=attempts)

    async def ask_with_lookups(
        self, debate: Debate, call: Call, terms: CallTerms, timeout_seconds: float
    ) -> Event:
        """What a model answers, or what it looks up first. Raises whatever the model does."""
        if long := [each.text for each in debate.setup.documents if len(each.text) > MAX_QUICK_LENGTH]:
            await to_thread.run_sync(prepare_documents, long)
        prompt = render(debate, call)
        batches = count_lookup_batches(debate, call)
        may_look_up = batches < MAX_LOOKUP_BATCHES and call.model != CLIENT  # which calls no functions
        servers = find_tools(debate.setup, call.seat, call.task) if may_look_up else ()
        functions = await self.research.list_functions(servers) if servers else ()
        if not batches and (problems := self.research.find_problems(servers)):
            lookups = [Lookup(tool="servers", arguments="", failed=problem) for problem in problems]
            return build_researched(call, lookups)
        room, wide = find_rooms(debate, call, prompt)
        request = Request(
            prompt=prompt,
            seat=call.seat,
            max_tokens=room.tokens,
            thinking_tokens=room.thinking,
            thinking=debate.setup.thinking,
            window=debate.windows.get(call.model, 0),
            timeout=timeout_seconds,
            seed=call.seed,
            functions=(*prompt.functions, *functions),
            max_attempts=terms.max_attempts,
            group=str(debate.setup.seed),
            owner=terms.owner,
        )
        widen = partial(replace, request, max_tokens=wide.tokens, thinking_tokens=wide.thinking)
        ask = partial(self.ask_with_room, debate, call, request, widen, terms)
        reply = await (self.reuse_answer(call, request, terms.reuse, ask) if terms.reuse else ask())
        await self.turnstile.enter(terms.owner)
        usage = reply.usage.model_copy(update={"prompt_sha256": hash_request(call.model, request)})
        reply = replace(reply, usage=usage)
        lookup_calls = [each for each in reply.function_calls if each.name != "handoff"] if functions else []
        if lookup_calls:
            lookups_ahead = (
                self.research.look_up(each, servers) for each in lookup_calls[:MAX_LOOKUPS_PER_BATCH]
            )
            return build_researched(call, await asyncio.gather(*lookups_ahead), reply.usage)
        return await read_reply(debate, call, reply)

    async def reuse_answer(
        self,
        call: Call,
        request: Request,
        reuse: AnswerReuse,
        ask: Callable[[], Awaitable[Reply]],
    ) -> Reply:
        """The answer that another debate got to the same request; if there is none, the model is asked."""
        model = self.models.get(call.model)
        if not may_reuse(call) or model.has_faults:
            return await ask()
        digest = hash_request(call.model, request)
        key = build_answer_key(digest, request, model.address, package_version(), reuse.owner)
        if answer := await reuse.find(key):
            usage = Usage(
                model=answer.model,
                cost_usd="0",
                attempts=0,
                reused_from=answer.source,
                reused_tokens=answer.tokens,
            )
            return Reply(answer.text, usage, informative=answer.informative)
        reply = await ask()
        if not (reply.cut or reply.function_calls or reply.usage.sent_tokens):
            slot = (call.seat, call.round, call.slot_index, digest)
            usage = reply.usage
            tokens = usage.input_tokens + usage.output_tokens
            reuse.new[slot] = (key, KeptAnswer(redact(reply.text), usage.model, reply.informative, tokens))
        return reply

    async def ask_with_room(
        self, debate: Debate, call: Call, request: Request, widen: Callable[[], Request], terms: CallTerms
    ) -> Reply:
        """The reply of a model; where its limit of tokens came before its answer, that to the same with more room.

        `widen`: gives the request with more. A model that needs more gets it at once from then on.
        """
        if call.model in self.long_thinkers:
            return await self.ask(debate, call, widen(), terms)
        reply = await self.ask(debate, call, request, terms)
        if not reply.cut or reply.function_calls or reply.usage.sent_tokens:
            return reply
        wider, model = widen(), self.models.get(call.model)
        has_more = model.find_limit(wider) > model.find_limit(request)
        if not has_more or not isinstance(await read_reply(debate, call, reply), Failed):
            return reply
        self.long_thinkers.add(call.model)
        seconds = request.timeout - reply.usage.milliseconds / 1000
        attempts = request.max_attempts - reply.usage.attempts
        if seconds <= 0 or attempts < 1:
            return reply
        # A watcher who saw part of a reply gets no pieces of the next one.
        terms = replace(terms, on_text=None) if reply.text else terms
        try:
            wider = replace(wider, timeout=seconds, max_attempts=attempts)
            longer_reply = await self.ask(debate, call, wider, terms)
        except ModelError as error:
            failure_usage = error.usage or Usage(model=call.model, attempts=error.attempts)
            raise ModelError(
                error.cause, error.detail, usage=add_usage(reply.usage, failure_usage)
            ) from error
        return replace(longer_reply, usage=add_usage(reply.usage, longer_reply.usage))

    async def ask(self, debate: Debate, call: Call, request: Request, terms: CallTerms) -> Reply:
        """The reply of a model, with the time that it took; of one that does not keep its time limit, an error."""
        model, own = self.models.get(call.model), None
        if terms.client and call.model == CLIENT:
            model = replace(model, model=terms.client)
        if cache := model.cache:
            sharing = partial(find_sharing, debate, call)
            request, own = await self.beginnings.follow(call.model, request, cache, sharing)
        longest = model.max_reply_seconds(request.timeout) + self.leeway
        start = monotonic()
        with anyio.move_on_after(longest) as limit, self.beginnings.lead(own, terms.on_text) as on_text:
            reply = await model.reply(request, on_text)
        if limit.cancelled_caught:
            raise ModelError("timeout", f"{call.model} gave no answer in {request.timeout:g} seconds.")
        milliseconds = reply.usage.milliseconds or round((monotonic() - start) * 1000)
        return replace(reply, usage=reply.usage.model_copy(update={"milliseconds": milliseconds}))

    async def measure(self, debate: Debate, call: Call, timeout_seconds: float, owner: str) -> Event:
        """How alike the positions of voters are, by the embeddings of a model."""
        ballots = list_round_ballots(debate)
        texts = [ballot.position for ballot in ballots]
        vectors, usage = await self.models.get_embedder(call.model, owner).embed(texts, timeout_seconds)
        await self.turnstile.enter(owner)
        return build_measurement(debate, call.seen, ballots, vectors, usage)


def count_lookup_batches(debate: Debate, call: Call) -> int:
    """How often its seat has looked something up for this answer."""
    slot = (call.seat, call.round, call.slot_index)
    return sum((fact.seat, fact.round, fact.slot_index) == slot for fact in debate.research)


def build_researched(call: Call, lookups: Iterable[Lookup], usage: Usage | None = None) -> Researched:
    return Researched(
        seat=call.seat,
        round=call.round,
        slot_index=call.slot_index,
        seen=call.seen,
        lookups=tuple(lookups),
        usage=usage,
    )


def may_reuse(call: Call) -> bool:
    """Whether an answer of another debate may be used. Votes, reviews and checks are always asked for anew."""
    deciding = ("ballot", "judgment", "closing", "review", "exchange", "check")
    return call.task not in deciding and call.model not in AWAITED


async def read_reply(debate: Debate, call: Call, reply: Reply) -> Event:
    """The event of a reply, read in a thread where that takes long."""
    is_checked = call.task == "deliverable" and debate.setup.output_schema
    interpret_reply = partial(interpret, debate, call, reply)
    if len(reply.text) > MAX_QUICK_LENGTH or is_checked:
        return await to_thread.run_sync(interpret_reply, abandon_on_cancel=True)
    return interpret_reply()


def prepare_documents(texts: list[str]) -> None:
    """Prepare documents for the search of quotes and passages: for a long one this takes tenths of a second, once."""
    for text in texts:
        fold_document(text)
        search_passage(text, "")


def hash_request(model: str, request: Request) -> str:
    """SHA-256 of what a model is asked, in hexadecimal.

    It is that of canonical JSON (RFC 8785): {"functions": [{"description", "name", "parameters"}], "messages":
    [{"content", "role"}], "model", "schema"}, with the model's name as the debate has it. pydantic's encoder writes
    the same bytes for texts, much faster.
    """
    messages = [{"content": each.content, "role": each.role} for each in request.prompt.messages]
    functions = rfc8785.dumps([asdict(each) for each in request.functions]) if request.functions else b"[]"
    is_ours = request.prompt.strict  # without floats, large numbers and names beyond ASCII: sorting is enough
    schema = (encode_sorted if is_ours else rfc8785.dumps)(request.prompt.schema)
    digest = sha256(b'{"functions":%b,"messages":' % functions)
    digest.update(to_json(messages))
    digest.update(b',"model":%b,"schema":%b}' % (to_json(model), schema))
    return digest.hexdigest()


def build_answer_key(digest: str, request: Request, address: str, release: str, owner: str) -> str:
    """What an answer is kept under: SHA-256 of the request, seed and limits, its address, the release, its owner."""
    parts = (
        digest,
        request.seed,
        request.max_tokens,
        request.thinking,
        request.window,
        address,
        release,
        owner,
    )
    return sha256(to_json(parts)).hexdigest()


def encode_sorted(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def list_models(debate: Debate) -> set[str]:
    return {*find_models(debate.setup), *find_own_models(debate).values()}


def withhold_secrets(on_text: OnText) -> OnText:
    """Passes on pieces of a reply, but for what may be the beginning of a secret until the next piece shows it."""
    waiting = ""

    def pass_on(piece: str) -> None:
        nonlocal waiting
        text, waiting = redact_pieces(waiting, piece)
        if text:
            on_text(text)

    return pass_on
