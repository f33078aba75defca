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

from server.models import Cue, FunctionCall, ModelError, Request
from server.models.fakes.next_speaker import next_of
from server.models.json_schema.narrow import narrowed
from server.models.local.grammars import LONGEST_STRING, bounded, grammar, longest, texts

CONTEXT = 2_048  # tokens; its prompts take about 300, its judgments twice that
LONGEST_ARGUMENT = 110  # tokens; beyond that it wanders
JUDGMENT_TOKENS = 500  # more than the longest judgment takes: a grammar that is cut leaves no JSON
LONGEST_FORM = 1_300  # tokens of any other answer in JSON
LONGEST_QUOTE = 220  # characters of the opponent; it copies what it reads
LONGEST_MOTION = 600

_BY_GRAMMAR: dict[str, str] = {
    "ballot": "Which position do you hold to be right, now that all is said?",
    "deliverable": "Write the result of the debate on this motion.",
    "judgment": "Which position is better supported?",
}
_PROSE: dict[str, str] = {
    "answer": "Answer that.",
    "audit": "Which claim in it needs evidence?",
    "closing": "Sum up in one sentence what was said.",
    "deliverable": "Write a short report on what the debate showed.",
    "message": "Ask your opponent one short, hard question about their position.",
    "opening": "You lead the debate. Tell the debaters what to speak about now.",
}
_BEGINNINGS: dict[str, str] = {
    "audit": "The claim that needs evidence is that",
    "closing": "In this round it was said that",
    "deliverable": "The debate showed that",
    "message": "What would happen to your position if",
    "opening": "In this round, speak about",
}
_NOTES = ("closing", "message", "opening")
LONGEST_NOTE = 50  # tokens of what is to be a sentence

AGREEING = ("for", "pro", "yes", "in favour", "in favor", "support", "affirmative", "agree")
OPPOSING = ("against", "con", "contra", "no", "oppose", "negative", "disagree")

_HABITS = {
    "temperature": 0.6,
    "repeat_penalty": 1.1,
    # Without these it copies the opponent word for word. -1 for the whole context is refused.
    "dry_multiplier": 0.8,
    "dry_base": 1.75,
    "dry_allowed_length": 3,
    "dry_penalty_last_n": CONTEXT,
}
_OPENER = re.compile(
    r"^(?:My position is: [^.]*\.|I (?:support|oppose) this motion\.) "
    r"(?:My opponent overlooks that|The first reason is that)? ?"
)  # its own beginnings, which it would take up from a quotation


@dataclass(frozen=True, slots=True)
class Question:
    body: dict[str, Any]  # as the runtime takes it
    begun: str = ""  # the beginning of the answer that is put into the model's mouth


def question(request: Request) -> Question:
    """What the runtime is asked.

    Raises:
        ModelError: no answer of this schema is short enough for it.
    """
    cue = request.prompt.cue
    seed = crc32(f"{request.seed} {request.seat} {cue.round}".encode()) >> 1
    body: dict[str, Any] = {"seed": seed, "stream": True, "stream_options": {"include_usage": True}}
    if written_by_grammar(request):
        rule, tokens = rule_for(request)
        body["messages"] = [{"role": "user", "content": form_question(cue)}]
        return Question(body | {"temperature": 0.3, "max_tokens": tokens, "grammar": grammar(rule)})
    begun = beginning(cue)
    body["messages"] = [
        {"role": "system", "content": "You are a debater. You give reasons in short, plain sentences."},
        {"role": "user", "content": prose_question(cue)},
        {"role": "assistant", "content": begun},
    ]
    longest_text = LONGEST_NOTE if cue.asks in _NOTES else LONGEST_ARGUMENT
    return Question(body | _HABITS | {"max_tokens": min(request.max_tokens, longest_text)}, begun)


def written_by_grammar(request: Request) -> bool:
    """What is one text reads better as prose; `composed` puts it into its form afterwards."""
    return request.prompt.schema is not None and request.prompt.cue.asks in _BY_GRAMMAR


def rule_for(request: Request) -> tuple[dict[str, Any], int]:
    """(the schema to generate by, the tokens that its longest answer takes)."""
    schema, asks = request.prompt.schema or {}, request.prompt.cue.asks
    if asks == "judgment":
        return bounded(schema), JUDGMENT_TOKENS
    if asks == "ballot":  # or its reason is a letter
        schema = {"allOf": [schema, {"properties": {"reasoning": {"minLength": 40}}}]}
    for string, items in ((LONGEST_STRING, 3), (80, 2), (40, 1), (20, 1)):
        node = narrowed(schema, string=string, items=items)
        if node is not None and (tokens := longest(node)) <= LONGEST_FORM:
            return texts(node), tokens
    raise ModelError(
        "bad_request",
        "local: the embedded model is too small for a result of this shape. Choose another model for it, or "
        "a smaller schema.",
    )


def composed(request: Request, text: str) -> tuple[str, tuple[FunctionCall, ...]]:
    """The text in the form that was asked for, with what is not left to the model."""
    cue = request.prompt.cue
    if request.prompt.schema is None:
        return handed_over(request, text)
    values: dict[str, Any] = {}
    match cue.asks:
        case "argument":
            values = {"response": text, "next_agent_name": next_of(request)}
        case "message":
            values = {"to": next_of(request, step=cue.round), "kind": "question", "text": text}
        case "opening":
            values = {"briefing": text, "new_angle": None, "next_speakers": list(cue.others), "done": False}
        case "closing":
            values = {"summary": text, "status": "CONTINUE", "decision": ""}
    return (told(values) if values else text), ()


def handed_over(request: Request, text: str) -> tuple[str, tuple[FunctionCall, ...]]:
    cue = request.prompt.cue
    to = next_of(request)
    if not to or cue.asks != "argument":
        return text, ()
    if cue.handoff == "tool" and any(function.name == "handoff" for function in request.functions):
        return "", (FunctionCall("handoff", told({"response": text, "next_agent_name": to})),)
    return (f"{text}\n\nTransition to {to}" if cue.handoff == "text" else text), ()


def told(values: dict[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False)


def prose_question(cue: Cue) -> str:
    if cue.asks not in _PROSE:
        return debaters_question(cue)
    motion = f"The motion: {clip(cue.question, LONGEST_MOTION)}"
    heard = clip(_OPENER.sub("", cue.opponent), LONGEST_QUOTE)
    said = f'\nIt was said: "{heard}"' if heard else ""
    seen = f"\nYour position: {clip(cue.stance, 200)}" if cue.asks == "answer" else ""
    if cue.asks in ("closing", "deliverable") and cue.positions:
        seen = f"\n{positions_of(cue)}"
    return f"{motion}{seen}{said}\n{_PROSE[cue.asks]}"


def debaters_question(cue: Cue) -> str:
    lines = [f"The motion: {clip(cue.question, LONGEST_MOTION)}", f"Your position: {clip(cue.stance, 200)}"]
    if cue.opponent:
        lines.append(f'Your opponent said: "{clip(_OPENER.sub("", cue.opponent), LONGEST_QUOTE)}"')
        lines.append("Answer your opponent and give a new reason for your position.")
    else:
        lines.append("Give the best reasons for your position.")
    return "\n".join(lines)


def form_question(cue: Cue) -> str:
    task = _BY_GRAMMAR[cue.asks]
    positions = f"{positions_of(cue)}\n" if cue.positions else ""
    heard = f'Last it was said: "{clip(cue.opponent, LONGEST_QUOTE)}"\n' if cue.opponent else ""
    return f"The motion: {clip(cue.question, LONGEST_MOTION)}\n{positions}{heard}{task} Answer in JSON."


def positions_of(cue: Cue) -> str:
    listed = "\n".join(f"{letter}. {clip(stance, 120)}" for letter, stance in cue.positions[:12])
    return f"The positions:\n{listed}" if listed else ""


def beginning(cue: Cue) -> str:
    """What the answer begins with: left alone, it repeats the motion or argues the wrong side."""
    if cue.asks in _BEGINNINGS:
        return _BEGINNINGS[cue.asks]
    stance = clip(cue.stance, 120).strip(" .")
    word = stance.casefold()
    if word in AGREEING:
        side = "I support this motion."
    elif word in OPPOSING:
        side = "I oppose this motion."
    else:
        side = f"My position is: {stance}."
    if cue.asks == "answer":
        return f"{side} My answer is that"
    return f"{side} My opponent overlooks that" if cue.opponent else f"{side} The first reason is that"


def clip(text: str, longest: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else line[:longest].rpartition(" ")[0] or line[:longest]


def finished(request: Request, text: str, begun: str) -> str:
    """Whole sentences of its own; one, where that is what was asked for."""
    if request.prompt.cue.asks not in _NOTES:
        return text[: end_of_sentence(text, len(begun))]
    line = text.partition("\n")[0]
    first = re.search(r"(?<!\d)[.!?](?=\s|$)", line[len(begun) :])
    if first:
        return line[: len(begun) + first.end()]
    return (line.rpartition(", ")[0] or line).rstrip(" ,;:") + "."


def end_of_sentence(text: str, start: int) -> int:
    """Where the last whole sentence ends; the end of the text where none does after `start`."""
    end = max(text.rfind(mark, start) for mark in (". ", "! ", "? ", ".\n", "!\n", "?\n"))
    if text.endswith((".", "!", "?")):
        return len(text)
    return end + 1 if end > 0 else len(text)
