"""Prompts for the embedded model, and replies made of its answers.

The model is too small for long prompts, choices and judgments. So it reads the `PromptSummary` instead of the prompt,
and continues a prefill or fills the strings of a grammar. Names and decisions are set in code: its own would be chance.
"""

import json
import re
from typing import Any
from zlib import crc32

from server.models import PromptSummary, Request
from server.models.local.grammars import bound_schema, build_grammar

CONTEXT_TOKENS = 2_048  # tokens; its prompts take about 300, its judgments twice that
MAX_ARGUMENT_TOKENS = 110  # longer arguments lose their thread
MAX_JSON_TOKENS = 1_300  # tokens; more than the longest bounded answer takes: a cut answer is not JSON
MAX_QUOTE_LENGTH = 220  # characters of the opponent; the model copies what it reads
MAX_MOTION_LENGTH = 600

_JSON_TASKS: dict[str, str] = {
    "framing": "Which answers to it are there?",
    "ballot": "Which position do you hold to be right?",
    "deliverable": "Write the result of the debate on this motion.",
    "judgment": "Which position is better supported?",
}
_PROSE_TASKS: dict[str, tuple[str, str]] = {
    "answer": ("Answer that.", ""),
    "advice": ("Answer it in two or three plain sentences: what to do, and why.", "My advice is to"),
    "blind_answer": ("Answer it in two or three plain sentences: what to do, and why.", "My advice is to"),
    "audit": ("Which claim in it needs evidence?", "The claim that needs evidence is that"),
    "closing": ("Sum up in one sentence what was said.", "In this round it was said that"),
    "deliverable": ("Write a short report on what the debate showed.", "The debate showed that"),
    "message": (
        "Ask your opponent one short, hard question about their position.",
        "What would happen to your position if",
    ),
    "opening": (
        "You lead the debate. Tell the debaters what to speak about now.",
        "In this round, speak about",
    ),
}
"""(instruction, the start of the answer) by task."""

_READING = ("What was said in it?", "In this round")
"""The same for every seat that reads rounds: the model is too small for that, and its answer is not used."""

_LONGER_TASKS = ("argument", "answer", "audit", "deliverable", "digest")
MAX_SENTENCE_TOKENS = 50  # tokens

AGREEMENT_WORDS = ("for", "pro", "yes", "in favour", "in favor", "support", "affirmative", "agree")
OPPOSITION_WORDS = ("against", "con", "contra", "no", "oppose", "negative", "disagree")

_SAMPLING_PARAMETERS = {
    "temperature": 0.6,
    "repeat_penalty": 1.1,
    # Without these it copies the opponent word for word. The runtime refuses -1 for the whole context.
    "dry_multiplier": 0.8,
    "dry_base": 1.75,
    "dry_allowed_length": 3,
    "dry_penalty_last_n": CONTEXT_TOKENS,
}
_PREFILL_PATTERN = re.compile(
    r"^(?:My position is: [^.]*\.|I (?:support|oppose) this motion\.) "
    r"(?:My opponent overlooks that|The first reason is that)? ?"
)  # prefills in quoted turns, which it would repeat


def build_body(request: Request) -> tuple[dict[str, Any], str]:
    """The body of a chat completion request, and the prefill: the start of the answer.

    Raises ModelError if no answer of the schema is short enough for the model.
    """
    summary = request.prompt.summary
    seed = crc32(f"{request.seed} {request.seat} {summary.round}".encode()) >> 1
    body: dict[str, Any] = {"seed": seed, "stream": True, "stream_options": {"include_usage": True}}
    # JSON is generated where several values are wanted. A single text is better as prose; `compose_reply` wraps it.
    if request.prompt.schema is not None and summary.task in _JSON_TASKS:
        body |= {"messages": [{"role": "user", "content": build_prompt(summary, as_json=True)}]}
        body |= {"temperature": 0.3, "max_tokens": MAX_JSON_TOKENS}
        return body | {"grammar": build_grammar(bound_schema(request.prompt.schema))}, ""
    prefill = build_prefill(summary)
    body["messages"] = [
        {"role": "system", "content": "You are a debater. You give reasons in short, plain sentences."},
        {"role": "user", "content": build_prompt(summary)},
        {"role": "assistant", "content": prefill},
    ]
    longest_text = MAX_ARGUMENT_TOKENS if summary.task in _LONGER_TASKS else MAX_SENTENCE_TOKENS
    body["max_tokens"] = min(request.max_tokens, longest_text)
    return body | _SAMPLING_PARAMETERS, prefill


def compose_reply(request: Request, text: str, prefill: str = "", *, cut: bool = False) -> str:
    """The text in the form of the task, with the values that are not left to the model."""
    summary, to, schema = request.prompt.summary, request.find_next_speaker(), request.prompt.schema
    if not text or (schema is not None and summary.task in _JSON_TASKS):
        return text
    if cut or summary.task != "argument":
        text = trim_to_sentences(request, text, prefill)
    values: dict[str, Any] = {}
    properties = (schema or {}).get("properties", {})
    match summary.task:
        case "argument":
            values = {"response": text, "holds" if "holds" in properties else "next_agent_name": to}
        case "message":
            values = {"to": request.find_next_speaker(summary.round), "kind": "question", "text": text}
        case "opening":
            speakers = list(summary.choices)
            values = {"briefing": text, "new_angle": None, "next_speakers": speakers, "done": False}
        case "closing":
            values = {"summary": text, "status": "CONTINUE", "decision": ""}
    return json.dumps(values) if schema is not None and values else text


def build_prompt(summary: PromptSummary, *, as_json: bool = False) -> str:
    task, quote = summary.task, clip(_PREFILL_PATTERN.sub("", summary.opponent_text), MAX_QUOTE_LENGTH)
    lines = [f"The motion: {clip(summary.question, MAX_MOTION_LENGTH)}"]
    if task in ("argument", "answer"):
        lines.append(f"Your position: {clip(summary.stance, 200)}")
    if summary.positions and (as_json or task in ("closing", "deliverable")):
        lines.append("The positions:")
        lines += [f"{letter}. {clip(stance, 120)}" for letter, stance in summary.positions[:12]]
    if quote:
        lines.append(f'{"Your opponent said" if task == "argument" else "It was said"}: "{quote}"')
    if as_json:
        return "\n".join([*lines, f"{_JSON_TASKS[task]} Answer in JSON."])
    if task == "argument":
        aim = "Answer your opponent and give a new reason" if quote else "Give the best reasons"
        return "\n".join([*lines, f"{aim} for your position."])
    return "\n".join([*lines, _PROSE_TASKS.get(task, _READING)[0]])


def build_prefill(summary: PromptSummary) -> str:
    """The start of the answer: without it the model repeats the motion or argues the wrong side."""
    if summary.task not in ("argument", "answer"):
        return _PROSE_TASKS.get(summary.task, _READING)[1]
    stance = clip(summary.stance, 120).strip(" .")
    word = stance.casefold()
    side = f"My position is: {stance}."
    if word in AGREEMENT_WORDS or word in OPPOSITION_WORDS:
        side = f"I {'support' if word in AGREEMENT_WORDS else 'oppose'} this motion."
    if summary.task == "answer":
        return f"{side} My answer is that"
    return f"{side} {'My opponent overlooks' if summary.opponent_text else 'The first reason is'} that"


def clip(text: str, max_length: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= max_length else line[:max_length].rpartition(" ")[0] or line[:max_length]


def trim_to_sentences(request: Request, text: str, prefill: str) -> str:
    """Whole sentences after the prefill, if there are any; one sentence for tasks that ask for one."""
    if request.prompt.summary.task in _LONGER_TASKS:
        marks = (". ", "! ", "? ", ".\n", "!\n", "?\n")
        end = max(text.rfind(mark, len(prefill)) for mark in marks)
        return text if end <= 0 or text.endswith((".", "!", "?")) else text[: end + 1]
    line = text.partition("\n")[0]
    if sentence_end := re.search(r"(?<!\d)[.!?](?=\s|$)", line[len(prefill) :]):
        return line[: len(prefill) + sentence_end.end()]
    return (line.rpartition(", ")[0] or line).rstrip(" ,;:") + "."
