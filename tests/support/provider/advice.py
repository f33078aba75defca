"""What the stub answers in the answer format, of a model that takes a side: JSON, and a report in plain text.

A model whose name ends in "side-b" advises B; others advise A. They stay where they are.
"""

import json
import re
from typing import Any

from tests.support.provider.completions import generate_prose

TASKS = {
    "# Task\nAnswer as you would": "advice",
    "# Task\nSomebody acts on these answers": "review",
    "# Task\n- Say what you differ in": "exchange",
    "# Task\nWrite the final answer": "report",
    "# Task\nSomebody acts on this answer": "check",
}
_SIDE = re.compile(r"side-(\w)\Z")
_ANSWER = re.compile(r"^\[([A-Z]\d{1,2})\]\n((?:>.*\n?)+)", re.MULTILINE)


def find_task(prompt: str) -> str:
    """The task of the answer format that a prompt ends with; "" for any other."""
    return next((task for words, task in TASKS.items() if words in prompt), "")


def generate_advice(prompt: str, model: str, chars: int = 0) -> str:
    """The reply to a task of the answer format, with a reason of so many characters; "" for any other prompt."""
    if not (task := find_task(prompt)):
        return ""
    found = _SIDE.search(model)
    if task == "report":
        return build_report(prompt, chars)
    fields = build_fields(task, prompt, found[1].upper() if found else "A")
    if chars and "because" in fields:
        fields["because"] = generate_prose(prompt, chars)
    return json.dumps(fields, ensure_ascii=False)


def build_fields(task: str, prompt: str, side: str) -> dict[str, Any]:
    advice = f"Advice {side}: begin small with it, and measure what comes of it for a month."
    shared = {
        "because": "A small beginning shows what it costs before much is spent, and it can be undone.",
        "recommendation": advice,
        "against": "It takes longer.",
        "next": "Write down what is measured, and how often.",
        "probability": 90,
    }
    match task:
        case "review":
            return shared | build_review(prompt, side)
        case "exchange":
            return shared | {
                "kind": "assumption",
                "reply": "It is weighed.",
                "decides": "Whether it can be undone.",
            }
        case "check":
            return {"faults": [], "agrees": True}
        case _:
            return shared | {"assumed": "An ordinary case.", "changes_if": "Nothing comes of it: then stop."}


def build_review(prompt: str, side: str) -> dict[str, Any]:
    groups: dict[str, list[str]] = {}
    for label, text in _ANSWER.findall(prompt):
        said = re.search(r"Advice (\w)", text)
        groups.setdefault(said[1] if said else "A", []).append(label)
    labels = groups.get(side, [])
    return {
        "errors": [],
        "missing": ["Say who decides at the end of the month."],
        "groups": [*groups.values()],
        "follows": labels,
        "best": labels[0] if labels else "",
    }


def build_report(prompt: str, chars: int) -> str:
    """The draft's advice, and a reason."""
    draft = re.search(r"^# Draft.*\n> (.*)", prompt, re.MULTILINE)
    reason = generate_prose(prompt, chars) if chars else "It can be undone."
    return f"{draft[1] if draft else 'Begin small with it.'}\n\n{reason}"
