"""Refusals as a person at the page reads them: in the words of the form, and with what to do next."""

import re

from pydantic import ValidationError

from server.debate.facts.errors import DebateError
from server.engine.database.errors import DebateArchivedError, DebateNotFoundError
from server.models import KeyMissingError
from server.models.registry import NoModelError

FIELDS = {
    "question": "The question",
    "documents": "The list of documents",
    "documents.*.text": "A document",
    "documents.*.title": "The name of a document",
    "debaters.*.name": "The name of a side",
    "debaters.*.stance": "What a side defends",
    "models": "The list of models",
    "options.my_answer": "Your own answer",
    "options.tags": "The list of tags",
    "options.tags.*": "A tag",
    "options.limits.max_cost_usd": "The limit in dollars",
    "options.limits.max_calls": "The limit in calls",
    "text": "The text",
    "key": "The key",
}
"""Fields of requests as the page names them."""

BOUNDS = {
    "too_long": "may have {max_length:,} {what} at most. Make it shorter",
    "string_too_long": "may have {max_length:,} {what} at most. Make it shorter",
    "greater_than_equal": "has to be a number above 0",
}
"""Texts for pydantic's error types."""

WORDS = {
    r"Pass `question`: what to answer, in a sentence": "Write it above, in a sentence",
    r"Put long material into `documents` and ask": "Put long material into a file, add it under Documents, and ask",
    r"\bmax_cost_usd cannot be held\b": "The limit in dollars cannot be held",
    r"Give it in the setting `prices`, choose": "Choose",
    r"or limit calls and tokens instead": "or limit the calls instead",
    r"Leave `debaters` out for two": "Write a line for each side, or none to have them named",
    r" and pass that(?=\.)": " and choose that",
    r"[Pp]ass (?:it as|its) text": "save its text as a file, and choose that",
}
"""What is said to models and in the terminal, and what stands for it on the page."""


def describe_error(error: DebateError, *, owns_machine: bool) -> str:
    """`owns_machine`: whether keys can be stored on the page."""
    if isinstance(error, DebateNotFoundError) and not isinstance(error, DebateArchivedError):
        return str(error).partition(". ")[0] + "."  # the rest is for models
    if isinstance(error, NoModelError | KeyMissingError):
        problem = (
            str(error).partition(", and ")[0] if isinstance(error, KeyMissingError) else "No model is set up"
        )
        place = (
            "under Ask a question, Keys of providers"
            if owns_machine
            else "where the server runs (counterpoint keys set)"
        )
        return f"{problem}. Store the key of its provider {place}, or choose another model."
    text = str(error)
    for told, shown in WORDS.items():
        text = re.sub(told, shown, text)
    return text


def describe_misfit(error: ValidationError) -> str:
    """What does not fit in a request. The text does not repeat what was sent."""
    details = error.errors(include_url=False, include_input=False)[0]
    path = ".".join("*" if isinstance(part, int) else part for part in details["loc"])
    if path in FIELDS and details["type"] in BOUNDS:
        what = "entries" if path in ("documents", "models", "options.tags") else "characters"
        return f"{FIELDS[path]} {BOUNDS[details['type']].format(**details.get('ctx', {}), what=what)}."
    return f"This cannot be read: {path or 'the request'}: {details['msg']}."
