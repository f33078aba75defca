"""Which position a choice means: a label, a stance or a name, or none of them.

A choice is a field of an answer, or a whole answer that is nothing else, such as "Option B", "B. Keep it" or "tie". No
prose is searched for one: what does not parse is asked for once more, in whatever language it is written.
"""

import re
from typing import Any

from server.debate.replies.extract import find_debaters, normalize_name
from server.debate.state.debate import Debate
from server.debate.state.labels import side_labels

NO_SIDE = frozenset(
    {
        *(
            "none",
            "null",
            "no",
            "nobody",
            "neither",
            "nothing",
            "n/a",
            "tie",
            "draw",
            "a tie",
            "a draw",
            "even",
        ),
        *("undecided", "abstain", "abstention", "no one", "no winner", "no position", "no clear winner"),
        *("none of them", "none of the above", "neither side", "neither position", "it is a tie"),
    }
)
SYNTHESES = frozenset({"both", "synthesis", "compromise", "both of them", "both positions", "a synthesis"})

MAX_CHOICE_LENGTH = 2_000
"""Characters: a longer one is prose."""

_FILLERS = re.compile(
    r"\b(?:the|my|final|option|position|side|answer|choice|winner|vote|finding|verdict|decision|of|for|is|boxed)\b",
    re.IGNORECASE,
)
"""Words of the prompt that may stand around a label."""


def resolve_vote(debate: Debate, choice: Any, field: str, reading: int) -> str:
    """The debater whom a vote means; "" for none.

    Raises:
        ValueError: it means no position here, or two, or it says more than a position.
    """
    text = choice if isinstance(choice, str) else "" if choice is None else str(choice)
    if normalize_name(text) in NO_SIDE | SYNTHESES or not normalize_name(text):
        return ""
    found = find_debaters(debate, text, reading=reading)
    problem = "names more than one position" if found else "names no position"
    if not found and len(text) <= MAX_CHOICE_LENGTH:
        found, rest = find_mentioned(debate, text, reading)
        if len(found) == 1 and (re.search(r"\w", _FILLERS.sub("", rest)) or "?" in rest or "\uff1f" in rest):
            found, problem = set(), "says more than a position"
        elif found:
            problem = "names more than one position"
    if len(found) != 1:
        labels = ", ".join(debate.setup.labels)
        raise ValueError(f'"{field}" {problem}: it must be one of {labels}, or null')
    return next(iter(found))


def find_mentioned(debate: Debate, text: str, reading: int) -> tuple[set[str], str]:
    """(the debaters whose label, or else whose name or stance, occurs in a choice; what else it says).

    For example "Option Sorrel", "Sorrel (Ada)", "Sorrel. Keep it".
    """
    stances = {d.name: d.stance for d in debate.setup.debaters}
    for words in (side_labels(debate, reading), {name: name for name in debate.names}, stances):
        patterns = {
            name: re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
            for name, word in words.items()
        }
        if found := {name for name, pattern in patterns.items() if pattern.search(text)}:
            for name in found:
                for word in sorted((words[name], stances[name], name), key=len, reverse=True):
                    text = re.sub(re.escape(word), " ", text, flags=re.IGNORECASE)
            return found, text
    return set(), text
