"""Which position a choice means: a label, a stance or a name, or none of them.

A choice is a field of an answer, or a whole answer such as "Option B", "B. Keep it" or "tie". Prose is never searched
for one: an answer that does not parse is asked for once more, in any language.
"""

import re
from typing import Any

from server.debate.replies.extract import NOTHING, find_debaters, normalize_name
from server.debate.state.debate import Debate
from server.debate.state.labels import side_labels

NO_SIDE = NOTHING | {
    *("tie", "draw", "a tie", "a draw", "it is a tie", "even", "undecided", "abstain", "abstention"),
    *("no winner", "no position", "no clear winner", "neither side", "neither position"),
}
SYNTHESES = frozenset({"both", "synthesis", "compromise", "both of them", "both positions", "a synthesis"})

MAX_CHOICE_LENGTH = 2_000
"""In characters; a longer one is prose."""

_FILLERS = re.compile(
    r"\b(?:the|my|final|option|position|side|answer|choice|winner|vote|finding|verdict|decision|of|for|is|boxed)\b",
    re.IGNORECASE,
)
"""Words of the prompt that may surround a label."""


def resolve_vote(debate: Debate, choice: Any, field: str, reading: int) -> str:
    """The debater whom a vote means; "" for none.

    Raises:
        ValueError: it means no position here, or several, or says more than a position.
    """
    text = choice if isinstance(choice, str) else "" if choice is None else str(choice)
    if normalize_name(text) in NO_SIDE | SYNTHESES or not normalize_name(text):
        return ""
    debaters = find_debaters(debate, text, reading=reading)
    problem = "names more than one position" if debaters else "names no position"
    if not debaters and len(text) <= MAX_CHOICE_LENGTH:
        debaters, other_words = find_mentioned(debate, text, reading)
        if len(debaters) == 1 and (
            re.search(r"\w", _FILLERS.sub("", other_words)) or "?" in other_words or "\uff1f" in other_words
        ):
            debaters, problem = set(), "says more than a position"
        elif debaters:
            problem = "names more than one position"
    if len(debaters) != 1:
        labels = ", ".join(debate.setup.labels)
        raise ValueError(f'"{field}" {problem}: it must be one of {labels}, or null')
    return next(iter(debaters))


def find_mentioned(debate: Debate, text: str, reading: int) -> tuple[set[str], str]:
    """(the debaters whose label, or otherwise name or stance, occurs in a choice; the other words of it).

    For example "Option K73", "K73 (Ada)", "K73. Keep it".
    """
    stances = {d.name: d.stance for d in debate.setup.debaters}
    for words in (side_labels(debate, reading), {name: name for name in debate.names}, stances):
        patterns = {
            name: re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
            for name, word in words.items()
        }
        if mentioned := {name for name, pattern in patterns.items() if pattern.search(text)}:
            for name in mentioned:
                for word in sorted((words[name], stances[name], name), key=len, reverse=True):
                    text = re.sub(re.escape(word), " ", text, flags=re.IGNORECASE)
            return mentioned, text
    return set(), text
