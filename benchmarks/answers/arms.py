"""The arms: ways to come to an answer, each with what it took. Debates are held by the product's own engine."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from benchmarks.answers.questions import Question
from server.debate.answer import prompts
from server.debate.answer.lines import list_lines
from server.debate.answer.texts import show_answer
from server.debate.commands.requests import DebateRequest
from server.debate.facts.advice import Opinion
from server.debate.facts.quoting import quote_verbatim
from server.debate.facts.setup.limits import THINKING_TOKENS
from server.debate.prompts.prompt import Message, Prompt, PromptSummary
from server.debate.prompts.response_schemas import answer_schema
from server.debate.replies.advice import read_answer
from server.debate.rules.budget import compute_spending
from server.debate.state.debate import Debate
from server.debate.views.verdict import build_verdict
from server.engine.debates import DebateManager
from server.models import Reply, Request

SEED = 1
TEXT_TOKENS = 2_000

CRITICISE = """\
# Your answer
{answer}

# Task
Criticise this answer before somebody acts on it. Work the question out again for yourself. Test its facts, figures, \
steps and assumptions: what is wrong, what is missing that would change what the person does, what must stay? At most \
320 words, plain text."""

REVISE = """\
# Your answer
{answer}

# Your criticism of it
{criticism}

# Task
Write the final answer for the person who asked: keep what is right, mend what the criticism found, add what was \
missing. At most 300 words, plain text. No word about the criticism or the earlier version."""


class NoAnswerError(Exception):
    """An arm came to no answer; the text says why."""


@dataclass(frozen=True, slots=True)
class Played:
    """An answer as a person reads it, and what it took."""

    text: str
    calls: int
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Play:
    """What an arm plays with. One mind answers with the first of the models."""

    manager: DebateManager
    models: Sequence[str]
    timeout: int  # seconds of a call

    async def ask(self, question: Question, task: str) -> Reply:
        """The first model's reply to a task about a question, which it reads as an advisor of the product does."""
        model = self.models[0]
        documents = [
            f"# Document {number}: {document.title}\n{quote_verbatim(document.text)}"
            for number, document in enumerate(question.documents, 1)
        ]
        rules = [prompts.SYSTEM, *([prompts.DOCUMENT_RULE] if documents else [])]
        parts = [f"# Question\n{quote_verbatim(question.text)}", *documents, task]
        messages = (Message("system", "\n".join(rules)), Message("user", "\n\n".join(parts)))
        is_answer = task == prompts.ANSWER_TASK
        summary = PromptSummary("advice", question.text, 1)
        return await self.manager.planner.models.get(model).reply(
            Request(
                Prompt(messages, summary, answer_schema() if is_answer else None),
                seat="Author",
                max_tokens=TEXT_TOKENS + THINKING_TOKENS,
                timeout=self.timeout,
                seed=SEED,
                thinking_tokens=THINKING_TOKENS,
            )
        )


async def answer_once(play: Play, question: Question) -> Played:
    reply = await play.ask(question, prompts.ANSWER_TASK)
    return add_up(show_reply(reply), [reply])


async def criticise_and_revise(play: Play, question: Question, times: int) -> Played:
    """One mind: its answer, its criticism of it, and the answer revised, so many times."""
    replies = [await play.ask(question, prompts.ANSWER_TASK)]
    text = show_reply(replies[0])
    for _ in range(times):
        answer = quote_verbatim(text)
        critic = await play.ask(question, CRITICISE.format(answer=answer))
        revise = REVISE.format(answer=answer, criticism=quote_verbatim(critic.text))
        replies += [critic, await play.ask(question, revise)]
        text = replies[-1].text
    return add_up(text, replies)


async def hold_debate(play: Play, question: Question, format_name: str, effort: str) -> Played:
    """A debate of the product, as whoever starts it reads its result."""
    request = DebateRequest.model_validate(
        {
            "question": question.text,
            "documents": [
                {"title": document.title, "text": document.text} for document in question.documents
            ],
            "format": format_name,
            "models": list(play.models),
            "options": {"effort": effort, "seed": SEED, "limits": {"turn_timeout": play.timeout}},
            "run": True,
        }
    )
    snapshot = await play.manager.start(request, actor="benchmark")
    while snapshot.status == "running":
        snapshot = await play.manager.follow(snapshot.id, wait=60)
    text = show_result(snapshot.debate)
    if snapshot.status != "concluded" or not text:
        raise NoAnswerError(f"debate {snapshot.id} is {snapshot.status}")
    spent = compute_spending(snapshot.debate)
    return Played(text, spent.calls, spent.input_tokens, spent.output_tokens)


Arm = Callable[[Play, Question], Awaitable[Played]]

ARMS: Mapping[str, Arm] = MappingProxyType(
    {
        "one": answer_once,
        "critique": partial(criticise_and_revise, times=1),
        "critique_twice": partial(criticise_and_revise, times=2),  # about as many tokens as "standard"
        "quick": partial(hold_debate, format_name="second_opinion", effort="quick"),
        "standard": partial(hold_debate, format_name="second_opinion", effort="standard"),
        "advocates": partial(hold_debate, format_name="advocates", effort="standard"),
    }
)


def show_reply(reply: Reply) -> str:
    """An answer as the product shows it to its reviewers."""
    try:
        return show_answer(Opinion(**read_answer(reply.text)))
    except ValueError as error:
        raise NoAnswerError(f"the answer cannot be used: {error}") from error


def show_result(debate: Debate) -> str:
    """The lines of a result without what says how it was made: outcome, how sure it is, what weakens it, cost."""
    found = build_verdict(debate)
    if not found.answer.head:
        return "\n\n".join(filter(None, (found.verdict, found.deliverable, found.reasoning)))
    told = found.answer.model_copy(update={"how_sure": "", "keep_in_mind": [], "cost": ""})
    rows = list_lines(told)
    return "\n".join(row.text if row.head in ("", told.head) else f"{row.head}: {row.text}" for row in rows)


def add_up(text: str, replies: Sequence[Reply]) -> Played:
    used = [reply.usage for reply in replies]
    if not text.strip():
        raise NoAnswerError("the answer is empty")
    return Played(
        text.strip(),
        sum(usage.attempts for usage in used),
        sum(usage.input_tokens for usage in used),
        sum(usage.output_tokens for usage in used),
    )
