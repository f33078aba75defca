"""A model that follows a script: no key, no network, no delay.

Its answers depend on the request alone: the same debate gives the same words. Without a script of its own it has a text
for every task of a seat: the request's hash chooses sentences, and names are taken in turn.
"""

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from hashlib import sha256
from inspect import isawaitable
from typing import Any, Literal, Self
from urllib.parse import parse_qsl

import anyio

from server.debate.facts.errors import InvalidRequestError
from server.models import FunctionCall, ModelError, OnText, PromptSummary, Reply, Request, Usage, limit_time
from server.models.embeddings import Embeddings, Vector
from server.models.fakes.instances import build_instance, fit_text, hash_to_int

ScriptOutput = str | tuple[FunctionCall, ...]  # a text, or function calls in place of one
Script = Callable[[Request], ScriptOutput | Awaitable[ScriptOutput]]

HANDOFF = (
    "handoff"  # the function that chooses the next speaker, for models that would rather call than write
)

_LOOKUP_SECTION = re.compile(r"^#* ?What you looked up[^\n]*\n(.*)", re.MULTILINE | re.DOTALL)

_SENTENCES = (
    "The strongest reason for {stance} is what it spares people later, when changing course is dear.",
    "Where {stance} was tried, the effort fell on those who could carry it and the gain went to everybody.",
    "The costs of {stance} are known in advance; the costs of the alternatives appear afterwards.",
    "Nobody has to take {stance} on faith, because it can be tried small and undone.",
    "Much that is said against {stance} describes a careless version that nobody here defends.",
    "I am unsure how large the effect is, but its direction favours {stance} in every case I know.",
    "Those who decide this live with it for years, and {stance} leaves them the most room to move.",
    "A decision has to work on a bad day too, and on a bad day {stance} fails gently.",
    "What is easy to measure speaks against it, what matters in the end speaks for {stance}.",
    "Simple arrangements are the ones people keep to, and {stance} is the simplest on offer.",
)
_TURN_WORDS = 80
DIMENSIONS = 512  # of a vector
_MAX_DELAY = 3600
_MAX_CHARS = 1_000_000  # built without a pause, while the event loop waits

to_json = partial(json.dumps, ensure_ascii=False)


def is_scripted(name: str) -> bool:
    return name.partition("?")[0] == "scripted"


@dataclass(eq=False)
class ScriptedModel:
    """Follows `script`, which may raise a `ModelError`, or the default script."""

    script: Script | None = None
    _: KW_ONLY
    delay: float = 0.0  # seconds before an answer
    name: str = "scripted"
    chars: int = 0  # the exact length of an argument; 0 for about 80 words
    record_requests: bool = True
    requests: list[Request] = field(default_factory=list)  # for tests; empty without `record_requests`

    @classmethod
    def from_name(cls, name: str) -> Self:
        """The model of a name like "scripted?delay=0.2&chars=1200". Raises InvalidRequestError."""
        query = name.partition("?")[2]
        with suppress(ValueError):
            parameters = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query)))
            delay, chars = float(parameters.pop("delay", "0")), int(parameters.pop("chars", "0"))
            if not parameters and 0 <= delay <= _MAX_DELAY and 0 <= chars <= _MAX_CHARS:
                return cls(delay=delay, chars=chars, name=name, record_requests=False)
        advice = f"(delay: 0 to {_MAX_DELAY} seconds; chars: 0 to {_MAX_CHARS})"
        example = f'Write "scripted", or with parameters "scripted?delay=0.2&chars=1200" {advice}.'
        raise InvalidRequestError(f'"{name}" is not understood. {example}')

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        if self.record_requests:
            self.requests.append(request)
        start_time = anyio.current_time()
        with limit_time(self.name, request.timeout):
            await anyio.sleep(self.delay)
            if self.script:
                output = self.script(request)
            else:
                output = build_function_calls(request) or build_reply_text(request, self.chars)
            answer = await output if isawaitable(output) else output
        text, calls = (answer, ()) if isinstance(answer, str) else ("", answer)
        if on_text:
            for piece in re.findall(r"\s*\S+\s*?|\s+", text):
                on_text(piece)
        usage = Usage(
            model=self.name,
            input_tokens=sum(len(message.content.split()) for message in request.prompt.messages),
            output_tokens=len(text.split()) + sum(len(call.arguments.split()) for call in calls),
            cost_usd="0",
            milliseconds=round((anyio.current_time() - start_time) * 1000),
        )
        return Reply(text, usage, function_calls=calls)


def build_function_calls(request: Request) -> tuple[FunctionCall, ...]:
    """The function that it calls instead of answering: one look-up, if there is anything to look up with."""
    summary = request.prompt.summary
    lookups = [function for function in request.functions if function.name != HANDOFF]
    if lookups and not read_lookup_result(request):
        question = excerpt(summary.question)
        with suppress(ModelError):  # a function without arguments that fit is not called
            arguments = build_instance(lookups[0].parameters, summary.question, lambda _: question)
            return (FunctionCall(lookups[0].name, to_json(arguments)),)
    return ()


def build_reply_text(request: Request, chars: int = 0) -> str:
    """The answer: prose, or JSON if the prompt has a schema. Raises ModelError if no value fits it."""
    schema, summary = request.prompt.schema, request.prompt.summary
    if schema is None:
        return build_prose(request, chars)
    properties = schema.get("properties", {})
    fields = {name: value for name, value in build_fields(request, chars).items() if name in properties}
    for name, value in fields.items():
        if isinstance(value, str):
            fields[name] = fit_text(value, 0, properties[name].get("maxLength", len(value)))
    if fields and fields.keys() >= set(schema.get("required", [])):
        return to_json(fields)
    values = build_instance(schema, summary.question, lambda name: build_filler_text(summary, name))
    return to_json(values | fields if isinstance(values, dict) else values)


def build_prose(request: Request, chars: int) -> str:  # noqa: PLR0911  (a table of cases)
    summary = request.prompt.summary
    question, opponent_text = excerpt(summary.question), summary.opponent_text
    match summary.task:
        case "answer":
            stance = format_stance(summary)
            turn = hash_to_int(request.seat, opponent_text, str(summary.round))
            quote = f'Asked: "{excerpt(opponent_text)}" ' if opponent_text else ""
            answer = f"I would change my mind if nothing came of {stance} where it was tried in earnest."
            return f"{quote}{answer} {_SENTENCES[turn % len(_SENTENCES)].format(stance=stance)}"
        case "report":
            return f"{format_advice(summary)}\n\n{format_reason(summary)}"
        case "blind_answer":
            return f"I would begin small with this, measure, and keep the way back open: {question}"
        case "audit" if not opponent_text:
            return "There is nothing to check yet: no claim was made in this round."
        case "audit":
            claim = excerpt(opponent_text.partition(". ")[2] or opponent_text)
            return (
                f'This can be checked: "{claim}" It names no source and no number. Whoever said it should say where '
                "it was seen; until then it counts as an opinion. I found no argument that attacks a person."
            )
        case "deliverable":
            sides = " and ".join(f'"{excerpt(stance)}"' for _, stance in summary.positions[:3])
            compared = f" Compared were {sides}." if sides else ""
            return (
                f"The question was: {question}{compared} What holds on every side: begin small, "
                "measure, and keep the way back open. What stays open is how large the effect is."
            )
    return build_argument(request, chars)


def build_argument(request: Request, chars: int) -> str:
    summary = request.prompt.summary
    stance = format_stance(summary)
    turn = hash_to_int(request.seat, summary.stance, str(summary.round), str(request.seed))
    parts = [f"The question is: {excerpt(summary.question)} My answer is {stance}."]
    if summary.opponent_text:
        parts = [f'The other side says: "{excerpt(summary.opponent_text)}" That does not settle the matter.']
    # 3 and the number of sentences have no common divisor: none is repeated before all were used.
    count = len(_SENTENCES)
    sentences = [_SENTENCES[(turn + 3 * step) % count].format(stance=stance) for step in range(count)]
    if not chars:
        for sentence in sentences:
            parts += [sentence] if len(" ".join(parts).split()) < _TURN_WORDS else []
        return " ".join(parts)
    all_sentences = " ".join(sentences) + " "
    text = f"{parts[0]} {all_sentences * (chars // len(all_sentences) + 1)}"[: chars - 1]
    return text.rstrip().ljust(chars - 1, ".") + "."


def build_handoff(request: Request, chars: int) -> dict[str, Any]:
    speaker = request.find_next_speaker()
    values = {"response": build_argument(request, chars)}
    return values | {"next_agent_name": speaker, "holds": speaker} if speaker else values


def build_fields(request: Request, chars: int) -> dict[str, Any]:  # noqa: C901  (a table of cases)
    """The fields that it can fill, by task. The schema decides which are used."""
    summary, schema = request.prompt.summary, request.prompt.schema
    fields: dict[str, Any] = {}
    match summary.task:
        case "framing":
            fields = build_positions(summary)
        case "digest":
            fields = {"summary": f"It bears on {summary.question[:60]}", "quotes": []}
        case "argument":
            fields = build_handoff(request, chars)
        case "message":
            fields = build_message(request)
        case "opening":
            fields = build_round_briefing(request)
        case "closing":
            fields = build_round_summary(summary)
        case "comparison":
            fields = {"groups": [list(summary.choices)]}
        case "extraction":
            fields = {"claims": [], "left_out": []}
        case "advice" | "review" | "exchange" | "check":
            fields = build_advice(request)
        case "ballot" | "judgment" as task if summary.positions:
            fields = build_finding(summary, task)
        case _ if request.prompt.strict and schema:  # a seat that reads rounds: it reports nothing
            fields = {name: [] for name, part in schema["properties"].items() if part.get("type") == "array"}
    return fields


def build_advice(request: Request) -> dict[str, Any]:
    """An answer to the question, and reviews that find nothing wrong: seats on this model agree."""
    summary, choices = request.prompt.summary, list(request.prompt.summary.choices)
    advice, reason = format_advice(summary), format_reason(summary)
    return {
        "recommendation": advice,
        "because": reason,
        "probability": 80,
        "next": "Begin small, and measure what comes of it.",
        "changes_if": "Nothing comes of it within a month.",
        "against": "It takes longer than to decide at once.",
        "groups": [choices],
        "best": choices[0] if choices else "",
        "follows": choices[:1],
        "same_as": [],
        "kind": "words",
        "agrees": True,
        "answer": f"{advice}\n\n{reason}",
        **{key: [] for key in ("errors", "keep", "missing", "branches", "faults")},
        **dict.fromkeys(("premise", "value", "assumed", "differ_in", "reply", "decides", "moved_by"), ""),
    }


def format_advice(summary: PromptSummary) -> str:
    return f"Begin small with it: {excerpt(summary.question)}"


def format_reason(summary: PromptSummary) -> str:
    sentence = _SENTENCES[hash_to_int(summary.question, "advice") % len(_SENTENCES)]
    return sentence.format(stance="a small beginning")


def build_finding(summary: PromptSummary, task: Literal["ballot", "judgment"]) -> dict[str, Any]:
    """A vote for one position, chosen by the question's hash, whatever the labels: seats on this model agree."""
    positions = sorted(summary.positions, key=lambda position: position[1])
    key = "choice" if task == "ballot" else "winner"
    label, stance = positions[hash_to_int(summary.question, key) % len(positions)]
    side = f'"{excerpt(stance)}" ({label})'
    labels = [name for name, _ in positions]
    beliefs = dict.fromkeys([*labels, "none"], 20 // len(labels)) | {label: 80}
    beliefs["none"] += 100 - sum(beliefs.values())
    fields: dict[str, Any] = {"beliefs": beliefs, "unargued": []}
    if task == "ballot":
        check = f"What came of {side} where it was tried."
        nothing = dict.fromkeys(("moved_by", "new_point", "open_point"))
        return fields | nothing | {"position": f"{side} is the easiest to undo.", "would_check": check}
    return fields | {
        "reasoning": f"{label} answered what was said against it; the others left points open.",
        "winner": label,
        "cited": list(summary.points),
        "verdict": f"{side} was better supported.",
        "recommendation": f"Choose {side}: it is the easiest to undo.",
        "probability": 80,
        "corrected": "",
        "missed": "",
        "would_change": f"{side} was tried somewhere, and could not be undone.",
        "next": f"Find out what came of {side} where it was tried.",
    }


def build_positions(summary: PromptSummary) -> dict[str, Any]:
    """Yes and no to the question, or three ways to answer one that begins with a question word."""
    question = excerpt(summary.question)
    kind, answers = "yes_no", ["yes", "no"]
    if re.match(r"(?:which|what|who|how|when|where|why)\b", question, re.IGNORECASE):
        kind, answers = "open", ["the simplest answer", "the most thorough answer", "the cheapest answer"]
    positions = [f"{answer}: {question}" for answer in answers]
    return {"kind": kind, "positions": positions, "assumption": ""}


def build_message(request: Request) -> dict[str, Any]:
    """A question to another debater, one place further each round."""
    summary = request.prompt.summary
    to = request.find_next_speaker(summary.round)
    if not to:
        return {}
    stance = dict(summary.positions).get(to, "")
    side = f'"{excerpt(stance)}"' if stance else "your position"
    questions = (
        f"{to}, what would have to be observed within a year for you to give up {side}?",
        f"{to}, who bears the cost if {side} turns out to be wrong, and how do they get out of it?",
        f"{to}, which single fact does {side} depend on most, and where can it be looked up?",
    )
    return {"to": to, "kind": "question", "text": questions[hash_to_int(request.seat, to) % len(questions)]}


def build_round_briefing(request: Request) -> dict[str, Any]:
    summary = request.prompt.summary
    briefing = f"Round {summary.round}: answer what was said against you before you bring anything new."
    if result := read_lookup_result(request):
        briefing = f'What was looked up says: "{excerpt(result)}" Weigh that in round {summary.round}.'
    elif summary.round == 1:
        briefing = "Begin with the strongest reason you have, and say what it rests on."
    angles = (
        "What does each position cost those who did not choose it?",
        "What would be seen first if the position were wrong?",
        "How does the answer change if circumstances become worse?",
    )
    angle = angles[summary.round % len(angles)] if summary.round > 1 else None
    speakers = list(summary.choices)
    return {"briefing": briefing, "new_angle": angle, "next_speakers": speakers, "done": False}


def build_round_summary(summary: PromptSummary) -> dict[str, Any]:
    if summary.round == 1:
        text = "Round 1: the cases were made; nobody has answered the other side yet."
        return {"summary": text, "status": "CONTINUE", "decision": "", "unargued": []}
    text = f"Round {summary.round}: the objections were answered; what is left is to try it."
    side = f'"{choose_stance(summary)}"' if summary.positions else "it"
    decision = f"Try {side} on a small scale first, and look again when there are results."
    return {"summary": text, "status": "SETTLED", "decision": decision, "unargued": []}


def choose_stance(summary: PromptSummary, max_length: int = 120) -> str:
    """The stance that decisions and results name, whatever the order of the positions."""
    stances = sorted(stance for _, stance in summary.positions)
    return excerpt(stances[hash_to_int(summary.question, "decision") % len(stances)], max_length)


def build_filler_text(summary: PromptSummary, name: str) -> str:
    """A sentence for a property that `build_fields` does not fill."""
    label = (" ".join(re.findall(r"[^\W_]+", name)) or "this").capitalize()
    if summary.task != "deliverable" or not summary.positions:
        return f"{label}: nothing more to say."
    return f'{label}: the stronger reasons in the record were for "{choose_stance(summary, 60)}".'


def read_lookup_result(request: Request) -> str:
    """The first quoted line of the look-up's results; "" before a look-up."""
    section = _LOOKUP_SECTION.search(request.prompt.messages[-1].content)
    if not section:
        return ""
    lines = (line.lstrip("> ").strip() for line in section[1].splitlines() if line.startswith(">"))
    return next(filter(None, lines), "nothing was found")


def format_stance(summary: PromptSummary) -> str:
    """The stance as part of a sentence."""
    stance = " ".join(summary.stance.split()).rstrip(".")
    if stance.casefold() in ("", "for", "against", "pro", "con", "yes", "no"):
        return f'the answer "{stance}"' if stance else "this side"
    return f'"{stance}"'


def excerpt(text: str, max_length: int = 120) -> str:
    line = " ".join(text.split())
    head = line[:max_length]
    return line if len(line) <= max_length else (head.rpartition(" ")[0] or head) + "…"


class ScriptedEmbedder:
    """Counts the words of a text: as with real vectors, a text and its negation are alike."""

    async def embed(self, texts: Sequence[str], timeout: float) -> Embeddings:  # noqa: ARG002, ASYNC109  (the interface)
        words = sum(len(text.split()) for text in texts)
        usage = Usage(model="scripted", input_tokens=words, cost_usd="0")
        return Embeddings(tuple(map(count_words, texts)), usage)


def count_words(text: str) -> Vector:
    """Word counts, each at an index from the word's hash. The last number is never zero, so that a vector is not."""
    counts = [0.0] * DIMENSIONS
    for word in re.findall(r"\w+", text.casefold()):
        counts[int.from_bytes(sha256(word.encode()).digest()[:4]) % DIMENSIONS] += 1.0
    return (*counts, 0.01)
