"""Turns that a debate waits for, with the prompts that their writers need."""

from pydantic import BaseModel

from server.debate.facts.state import Debate
from server.debate.facts.text import count_bytes
from server.debate.prompts.render import render
from server.debate.rules.decide import pending_calls, status


class AwaitedTurn(BaseModel):
    """A turn that the caller is to write with `submit_turn`, and its whole prompt."""

    speaker: str
    task: str
    prompt: str


def truncate_start(text: str, max_bytes: int) -> str:
    """Cut a prompt at its start: the instruction stands at its end."""
    if count_bytes(text) <= max_bytes:
        return text
    note = "[The beginning is left out here: read_debate(view='prompt').]\n"
    return note + text.encode()[-max(max_bytes - count_bytes(note), 0) :].decode(errors="ignore")


def awaited_turns(debate: Debate) -> list[AwaitedTurn]:
    """The turns of seats whose model is `caller`; the debate waits until `submit_turn` brings them."""
    turns = []
    for call in pending_calls(debate) if status(debate) == "waiting" else ():
        prompt = "\n\n".join(message.content for message in render(debate, call).messages)
        turns.append(AwaitedTurn(speaker=call.seat, task=call.task, prompt=prompt))
    return turns
