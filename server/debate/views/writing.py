"""What may be read of an answer while a model writes it."""

import json
import re

from server.debate.documents.marks import disarm_marks
from server.debate.facts.text import remove_invisible
from server.debate.state.debate import Debate
from server.debate.state.labels import name_sides
from server.debate.views.visibility import list_blind_answers, shows_seat

TEXT_TASKS = ("argument", "message", "answer", "report")
"""Tasks whose text is for everybody. Ballots and readings are data, and private until they are recorded."""

SENTENCE_TASK = "advice"
"""The task whose answer is data that holds sentences for everybody. Reviews name answers by labels of their own until
they are recorded."""

_SENTENCE = re.compile(r'"(?:because|recommendation)"\s*:\s*("(?:[^"\\]|\\u[0-9a-fA-F]{4}|\\["\\/bfnrt])*)')
"""A field with a sentence, whose end may not be written yet."""


def show_piece(debate: Debate, seat: str, task: str, piece: str) -> str:
    """The words so far of a seat's answer; "" if readers may not see them yet, or they are data."""
    if list_blind_answers(debate) or not shows_seat(debate, seat):
        return ""
    if task == SENTENCE_TASK:
        piece = "\n".join(json.loads(f'{found}"', strict=False) for found in _SENTENCE.findall(piece))
    elif task not in TEXT_TASKS:
        return ""
    return remove_invisible(disarm_marks(name_sides(debate, piece)))
