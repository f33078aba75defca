"""The message that a debater sends with its turn: a line of its own, which is no part of the turn."""

import re

from server.debate.facts.answers import DirectMessage
from server.debate.facts.text import collapse_whitespace
from server.debate.replies.extract import find_debaters
from server.debate.rules.schedule import may_send
from server.debate.state.debate import Debate

MAX_MESSAGE_LENGTH = 1_200
"""Characters of a message that are kept."""

_MESSAGE = re.compile(
    r"^[ \t*_>#-]{0,6}MESSAGE TO[ \t]{1,3}(?P<to>[^,:\n]{1,60}?)[ \t*_]{0,4}[,:][ \t*_]{0,4}"
    r"(?P<act>(?i:question|proposal|critique))[ \t*_]{0,4}[:.\u2013\u2014-][ \t*_]{0,4}(?P<text>\S.*)$",
    re.MULTILINE,
)


def take_message(debate: Debate, seat: str, text: str) -> tuple[str, DirectMessage | None]:
    """(the turn without the first line that is a message to another debater, the message).

    Where no message may be sent, or to nobody here, the line is a part of the turn like any other.
    """
    for match in _MESSAGE.finditer(text) if may_send(debate, seat) else ():
        found = find_debaters(debate, match["to"], prefer_names=True) - {seat}
        if len(found) == 1:
            words = collapse_whitespace(match["text"])[:MAX_MESSAGE_LENGTH]
            rest = text[: match.start()] + text[match.end() :]
            sent = {"act": match["act"].lower(), "to": found.pop(), "text": words}
            return rest.strip(), DirectMessage.model_validate(sent)
    return text, None
