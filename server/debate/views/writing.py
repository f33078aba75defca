"""What may be read of an answer while a model writes it."""

import json
import re
from collections.abc import Mapping

from server.debate.answer.debates import build_panel
from server.debate.answer.mentions import store_mentions, tell_mentions
from server.debate.answer.panel import name_answer
from server.debate.answer.prompts import list_read_names, order_answers
from server.debate.documents.marks import disarm_marks
from server.debate.facts.setup.phases import AdviceTask
from server.debate.facts.text import remove_invisible
from server.debate.rules.calls import Call, pending_calls
from server.debate.state.debate import Debate
from server.debate.state.labels import name_sides
from server.debate.views.visibility import list_blind_answers, shows_seat

TEXT_TASKS = ("argument", "message", "answer", "report")
"""Tasks whose text is for everybody. Ballots and readings are data, and private until they are recorded."""

SENTENCES: Mapping[AdviceTask, str] = {
    "advice": "because|recommendation",
    "review": "right|because|recommendation|answer",
    "exchange": "reply|recommendation",
    "report": "",  # a text
    "check": "right",
}
"""The fields with sentences for everybody, of tasks whose answer is data."""

_TEXT = r'"(?:{fields})"\s*:\s*("(?:[^"\\]|\\u[0-9a-fA-F]{{4}}|\\["\\/bfnrt])*)'
"""A field with a text, whose end may not be written yet."""


def show_piece(debate: Debate, call: Call, piece: str) -> str:
    """The words so far of the answer to a call; "" if readers may not see them yet, or they are data."""
    if list_blind_answers(debate) or not shows_seat(debate, call.seat):
        return ""
    if fields := next((fields for task, fields in SENTENCES.items() if task == call.task), ""):
        found = re.findall(_TEXT.format(fields=fields), piece)
        piece = name_answers(debate, call, "\n".join(json.loads(f'{text}"', strict=False) for text in found))
    elif call.task not in TEXT_TASKS:
        return ""
    return remove_invisible(disarm_marks(name_sides(debate, piece)))


def name_answers(debate: Debate, call: Call, text: str) -> str:
    """The text with words for the labels under which its author reads answers and reviews."""
    panel = build_panel(debate)
    if call.task == "review":
        if sum(other.seat == call.seat for other in pending_calls(debate)) > 1:
            return ""  # another reading, under other labels, is written at the same time
        seats = order_answers(panel, call.seat, call.slot_index)
        names = {label: name_answer(panel, seat) for label, seat in seats.items()}
    elif call.task == "exchange":
        names = {label: source for source, label in list_read_names(panel.before_exchange, call.seat).items()}
    else:
        return text
    return tell_mentions(panel, store_mentions(text, names))
