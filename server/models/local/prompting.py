"""Prompts for the embedded model, and replies made of its answers.

The model is too small for long prompts, choices and judgments. So it reads the `PromptSummary` instead of the prompt,
and continues a prefill or fills the strings of a grammar. Names and decisions are set in code: its own would be chance.

The runtime (llguidance) compiles a JSON Schema itself, and ignores keywords that it does not know: a reply must still
be validated. Bounds are added here, because the model does not stop by itself.
"""

import json
import re
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

from server.models import ModelError, PromptSummary, Request

CONTEXT_TOKENS = 2_048  # tokens; its prompts take about 300, its judgments twice that
MAX_ARGUMENT_TOKENS = 110  # longer arguments lose their thread
MAX_JSON_TOKENS = 1_300  # tokens; more than the longest bounded answer takes: a cut answer is not JSON
MAX_QUOTE_LENGTH = 220  # characters of the opponent; the model copies what it reads
MAX_MOTION_LENGTH = 600

MAX_STRING_LENGTH = 160  # characters
MIN_STRING_LENGTH = 20
MAX_STRINGS_LENGTH = 1_000  # characters of all strings together
MAX_ITEMS = 3
SCHEMA_TOO_LARGE = (
    "local: the embedded model is too small for this result. Choose another model, or a smaller schema."
)

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


def build_grammar(schema: dict[str, Any]) -> str:
    """The schema as a grammar with fixed white space: otherwise the model writes white space until its tokens end."""
    options = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": ", "lenient": True}
    return "%llguidance {}\nstart: %json " + json.dumps(schema | {"x-guidance": options})


def bound_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """A stricter schema: short strings and lists, fewer fields. Raises ModelError for a long `minLength`."""
    strings = json.dumps(schema).count('"string"')
    length = min(MAX_STRING_LENGTH, max(MIN_STRING_LENGTH, MAX_STRINGS_LENGTH // max(strings, 1)))
    return _Bounds(length, MAX_ITEMS if strings <= MAX_ITEMS else 1).bound(schema)


@dataclass(frozen=True, slots=True)
class _Bounds:
    length: int  # of a string, in characters
    items: int  # of a list
    is_recursive: bool = False  # within a definition, which may contain itself
    is_partial: bool = False  # the schema is merged with others: it may not forbid their fields

    def bound(self, schema: Any) -> dict[str, Any]:
        schema = add_type(schema if isinstance(schema, dict) else {})
        bounds = dict(schema)
        for keyword in {"allOf", "anyOf", "oneOf", "prefixItems"} & schema.keys():
            is_merged = keyword == "allOf" or (keyword != "prefixItems" and "properties" in schema)
            inner = replace(self, is_partial=True) if is_merged else self
            bounds[keyword] = [inner.bound(part) for part in schema[keyword]]
        for keyword in {"$defs", "definitions"} & schema.keys():
            inner = replace(self, is_recursive=True)
            bounds[keyword] = {name: inner.bound(part) for name, part in schema[keyword].items()}
        types = schema.get("type", ())
        if "object" in types:
            bounds |= self.bound_object(schema)
        if "array" in types:
            bounds |= self.bound_array(schema)
        if "string" in types and "enum" not in schema:
            bounds |= self.bound_string(schema)
        if "integer" in types or "number" in types:
            # A range, and two decimals at most: the model would go on writing digits.
            lows = [schema[key] for key in ("minimum", "exclusiveMinimum") if key in schema]
            highs = [schema[key] for key in ("maximum", "exclusiveMaximum") if key in schema]
            bounds |= {} if lows else {"minimum": min([0, *(high - 100 for high in highs if high < 0)])}
            bounds |= {} if highs else {"maximum": max(lows, default=0) + 100}
            bounds |= {} if "multipleOf" in schema or "number" not in types else {"multipleOf": 0.01}
        return bounds

    def bound_object(self, schema: dict[str, Any]) -> dict[str, Any]:
        properties = schema.get("properties", {})
        required_names = schema.get("required") or list(properties)
        names = dict.fromkeys(
            [*(name for name in properties if name in required_names or self.is_partial), *required_names]
        )
        inner = replace(self, is_partial=False)
        fields = {name: inner.bound(properties.get(name, True)) for name in names}
        limits = {} if self.is_partial else {"required": list(names), "additionalProperties": False}
        return {"properties": fields} | limits

    def bound_array(self, schema: dict[str, Any]) -> dict[str, Any]:
        items = schema.get("items", True)
        is_recursive = self.is_recursive or '"#"' in json.dumps(items)
        usual = 0 if is_recursive else 1 if schema.get("uniqueItems") else self.items
        max_items = max(schema.get("minItems", 0), min(schema.get("maxItems", usual), usual))
        inner = replace(self, is_recursive=is_recursive, is_partial=False)
        return {"items": items and inner.bound(items), "maxItems": max_items}

    def bound_string(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Letters and punctuation only: without a pattern the model writes digits, or emoji of many tokens each."""
        min_length = schema.get("minLength", 0)
        if min_length > MAX_STRINGS_LENGTH:
            raise ModelError("bad_request", SCHEMA_TOO_LARGE)
        max_length = max(min_length, min(schema.get("maxLength", self.length), self.length))
        if "pattern" in schema or "format" in schema or not max_length:
            return {"maxLength": max_length}
        min_length = min_length or min(40, max_length // 4)  # otherwise the model writes a single letter
        return {"pattern": f"^[A-Z][ A-Za-z,.;:'()-]{{{max(min_length - 1, 0)},{max_length - 1}}}$"}


def add_type(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with a type, unless something else says what it admits."""
    if not schema.keys().isdisjoint({"type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"}):
        return schema
    is_object = not schema.keys().isdisjoint({"properties", "required"})
    return schema | {"type": "object" if is_object else "array" if "items" in schema else "string"}
