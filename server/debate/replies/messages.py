"""The message that a debater sends with its turn: a line that is not part of the turn."""

import re

from server.debate.facts.answers import DirectMessage
from server.debate.facts.text import collapse_whitespace
from server.debate.replies.extract import find_debaters
from server.debate.rules.schedule import may_send
from server.debate.state.debate import Debate

MAX_MESSAGE_LENGTH = 1_200
"""Characters of a message that are stored."""

_MESSAGE = re.compile(
    r"^[ \t*_>#-]{0,6}MESSAGE TO[ \t]{1,3}(?P<to>[^,:\n]{1,60}?)[ \t*_]{0,4}[,:][ \t*_]{0,4}"
    r"(?P<act>(?i:question|proposal|critique))[ \t*_]{0,4}[:.\u2013\u2014-][ \t*_]{0,4}(?P<text>\S.*)$",
    re.MULTILINE,
)


def take_message(debate: Debate, seat: str, text: str) -> tuple[str, DirectMessage | None]:
    """(the turn without its first line that is a message to another debater, the message).

    If no message may be sent, or its recipient is unknown, the line stays in the turn.
    """
    for match in _MESSAGE.finditer(text) if may_send(debate, seat) else ():
        recipients = find_debaters(debate, match["to"]) - {seat}
        if len(recipients) == 1:
            words = collapse_whitespace(match["text"])[:MAX_MESSAGE_LENGTH]
            turn = text[: match.start()] + text[match.end() :]
            message = {"act": match["act"].lower(), "to": recipients.pop(), "text": words}
            return turn.strip(), DirectMessage.model_validate(message)
    return text, None
