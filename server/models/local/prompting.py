"""What the embedded model is asked, and what is made of its answer.

It is too small for prompts of any length, for choosing and for weighing. So it reads the gist (`Cue`) and
not the prompt; it writes prose that is begun for it on the right side, or short texts in the places that a
grammar leaves; and what would only be chance is not left to it: whom it names, and that a round goes on.
"""

import json
import re
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from server.models import FunctionCall, ModelError, PromptSummary, Request
from server.models.local.grammars import SchemaTooLargeError, bound_schema, build_grammar
from server.models.next_speaker import choose_next_speaker

CONTEXT_TOKENS = 2_048  # tokens; its prompts take about 300, its judgments twice that
MAX_ARGUMENT_TOKENS = 110  # tokens; beyond that it wanders
MAX_JSON_TOKENS = 1_300  # tokens; more than the longest bounded answer takes: a cut answer is not JSON
MAX_QUOTE_LENGTH = 220  # characters of the opponent; it copies what it reads
MAX_MOTION_LENGTH = 600

SCHEMA_TOO_LARGE = (
    "local: the embedded model is too small for a result of this shape. Choose another model for it, or a smaller "
    "schema."
)

_JSON_TASKS: dict[str, str] = {
    "ballot": "Which position do you hold to be right, now that all is said?",
    "deliverable": "Write the result of the debate on this motion.",
    "judgment": "Which position is better supported?",
}
_PROSE_TASKS: dict[str, str] = {
    "answer": "Answer that.",
    "audit": "Which claim in it needs evidence?",
    "closing": "Sum up in one sentence what was said.",
    "deliverable": "Write a short report on what the debate showed.",
    "message": "Ask your opponent one short, hard question about their position.",
    "opening": "You lead the debate. Tell the debaters what to speak about now.",
}
_PREFILLS: dict[str, str] = {
    "audit": "The claim that needs evidence is that",
    "closing": "In this round it was said that",
    "deliverable": "The debate showed that",
    "message": "What would happen to your position if",
    "opening": "In this round, speak about",
}
_ONE_SENTENCE_TASKS = ("closing", "message", "opening")
MAX_SENTENCE_TOKENS = 50  # tokens of what is to be a sentence

AGREEMENT_WORDS = ("for", "pro", "yes", "in favour", "in favor", "support", "affirmative", "agree")
OPPOSITION_WORDS = ("against", "con", "contra", "no", "oppose", "negative", "disagree")

_SAMPLING_PARAMETERS = {
    "temperature": 0.6,
    "repeat_penalty": 1.1,
    # Without these it copies the opponent word for word. -1 for the whole context is refused.
    "dry_multiplier": 0.8,
    "dry_base": 1.75,
    "dry_allowed_length": 3,
    "dry_penalty_last_n": CONTEXT_TOKENS,
}
_PREFILL_PATTERN = re.compile(
    r"^(?:My position is: [^.]*\.|I (?:support|oppose) this motion\.) "
    r"(?:My opponent overlooks that|The first reason is that)? ?"
)  # its own beginnings, which it would take up from a quotation


@dataclass(frozen=True, slots=True)
class RuntimeRequest:
    body: dict[str, Any]  # as the runtime takes it
    prefill: str = ""  # the beginning of the answer that is put into the model's mouth


def build_runtime_request(request: Request) -> RuntimeRequest:
    """What the runtime is asked.

    Raises:
        ModelError: no answer of this schema is short enough for it.
    """
    cue = request.prompt.summary
    seed = crc32(f"{request.seed} {request.seat} {cue.round}".encode()) >> 1
    body: dict[str, Any] = {"seed": seed, "stream": True, "stream_options": {"include_usage": True}}
    if is_json_task(request):
        body["messages"] = [{"role": "user", "content": build_json_prompt(cue)}]
        return RuntimeRequest(
            body | {"temperature": 0.3, "max_tokens": MAX_JSON_TOKENS, "grammar": build_json_grammar(request)}
        )
    begun = build_prefill(cue)
    body["messages"] = [
        {"role": "system", "content": "You are a debater. You give reasons in short, plain sentences."},
        {"role": "user", "content": build_prose_prompt(cue)},
        {"role": "assistant", "content": begun},
    ]
    longest_text = MAX_SENTENCE_TOKENS if cue.task in _ONE_SENTENCE_TASKS else MAX_ARGUMENT_TOKENS
    return RuntimeRequest(
        body | _SAMPLING_PARAMETERS | {"max_tokens": min(request.max_tokens, longest_text)}, begun
    )


def is_json_task(request: Request) -> bool:
    """What is one text reads better as prose; `composed` puts it into its form afterwards."""
    return request.prompt.schema is not None and request.prompt.summary.task in _JSON_TASKS


def build_json_grammar(request: Request) -> str:
    """The grammar of an answer in JSON.

    Raises:
        ModelError: no answer is short enough for the model.
    """
    try:
        return build_grammar(bound_schema(request.prompt.schema or {}))
    except SchemaTooLargeError:
        raise ModelError("bad_request", SCHEMA_TOO_LARGE) from None


def compose_reply(request: Request, text: str) -> tuple[str, tuple[FunctionCall, ...]]:
    """The text in the form that was asked for, with what is not left to the model."""
    cue = request.prompt.summary
    if request.prompt.schema is None:
        return add_handoff(request, text)
    values: dict[str, Any] = {}
    match cue.task:
        case "argument":
            values = {"response": text, "next_agent_name": choose_next_speaker(request)}
        case "message":
            values = {"to": choose_next_speaker(request, step=cue.round), "kind": "question", "text": text}
        case "opening":
            values = {"briefing": text, "new_angle": None, "next_speakers": list(cue.choices), "done": False}
        case "closing":
            values = {"summary": text, "status": "CONTINUE", "decision": ""}
    return (render_json(values) if values else text), ()


def add_handoff(request: Request, text: str) -> tuple[str, tuple[FunctionCall, ...]]:
    cue = request.prompt.summary
    to = choose_next_speaker(request)
    if not to or cue.task != "argument":
        return text, ()
    if cue.handoff_mode == "tool" and any(function.name == "handoff" for function in request.functions):
        return "", (FunctionCall("handoff", render_json({"response": text, "next_agent_name": to})),)
    return (f"{text}\n\nTransition to {to}" if cue.handoff_mode == "text" else text), ()


def render_json(values: dict[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False)


def build_prose_prompt(prompt_summary: PromptSummary) -> str:
    if prompt_summary.task not in _PROSE_TASKS:
        return build_debater_prompt(prompt_summary)
    motion = f"The motion: {clip(prompt_summary.question, MAX_MOTION_LENGTH)}"
    heard = clip(_PREFILL_PATTERN.sub("", prompt_summary.opponent_text), MAX_QUOTE_LENGTH)
    said = f'\nIt was said: "{heard}"' if heard else ""
    seen = f"\nYour position: {clip(prompt_summary.stance, 200)}" if prompt_summary.task == "answer" else ""
    if prompt_summary.task in ("closing", "deliverable") and prompt_summary.positions:
        seen = f"\n{format_positions(prompt_summary)}"
    return f"{motion}{seen}{said}\n{_PROSE_TASKS[prompt_summary.task]}"


def build_debater_prompt(prompt_summary: PromptSummary) -> str:
    lines = [
        f"The motion: {clip(prompt_summary.question, MAX_MOTION_LENGTH)}",
        f"Your position: {clip(prompt_summary.stance, 200)}",
    ]
    if prompt_summary.opponent_text:
        lines.append(
            f'Your opponent said: "{clip(_PREFILL_PATTERN.sub("", prompt_summary.opponent_text), MAX_QUOTE_LENGTH)}"'
        )
        lines.append("Answer your opponent and give a new reason for your position.")
    else:
        lines.append("Give the best reasons for your position.")
    return "\n".join(lines)


def build_json_prompt(prompt_summary: PromptSummary) -> str:
    task = _JSON_TASKS[prompt_summary.task]
    positions = f"{format_positions(prompt_summary)}\n" if prompt_summary.positions else ""
    heard = (
        f'Last it was said: "{clip(prompt_summary.opponent_text, MAX_QUOTE_LENGTH)}"\n'
        if prompt_summary.opponent_text
        else ""
    )
    return f"The motion: {clip(prompt_summary.question, MAX_MOTION_LENGTH)}\n{positions}{heard}{task} Answer in JSON."


def format_positions(prompt_summary: PromptSummary) -> str:
    listed = "\n".join(f"{letter}. {clip(stance, 120)}" for letter, stance in prompt_summary.positions[:12])
    return f"The positions:\n{listed}" if listed else ""


def build_prefill(prompt_summary: PromptSummary) -> str:
    """What the answer begins with: left alone, it repeats the motion or argues the wrong side."""
    if prompt_summary.task in _PREFILLS:
        return _PREFILLS[prompt_summary.task]
    stance = clip(prompt_summary.stance, 120).strip(" .")
    word = stance.casefold()
    if word in AGREEMENT_WORDS:
        side = "I support this motion."
    elif word in OPPOSITION_WORDS:
        side = "I oppose this motion."
    else:
        side = f"My position is: {stance}."
    if prompt_summary.task == "answer":
        return f"{side} My answer is that"
    return (
        f"{side} My opponent overlooks that"
        if prompt_summary.opponent_text
        else f"{side} The first reason is that"
    )


def clip(text: str, max_length: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= max_length else line[:max_length].rpartition(" ")[0] or line[:max_length]


def trim_to_sentences(request: Request, text: str, prefill: str) -> str:
    """Whole sentences of its own; one, where that is what was asked for."""
    if request.prompt.summary.task not in _ONE_SENTENCE_TASKS:
        return text[: find_sentence_end(text, len(prefill))]
    line = text.partition("\n")[0]
    first = re.search(r"(?<!\d)[.!?](?=\s|$)", line[len(prefill) :])
    if first:
        return line[: len(prefill) + first.end()]
    return (line.rpartition(", ")[0] or line).rstrip(" ,;:") + "."


def find_sentence_end(text: str, start: int) -> int:
    """Where the last whole sentence ends; the end of the text where none does after `start`."""
    end = max(text.rfind(mark, start) for mark in (". ", "! ", "? ", ".\n", "!\n", "?\n"))
    if text.endswith((".", "!", "?")):
        return len(text)
    return end + 1 if end > 0 else len(text)
