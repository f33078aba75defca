"""Debates with every seat that reads rounds, answered as their schemas ask."""

import json

from server.debate.facts.setup.opened import Opened
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call
from server.debate.seats.registry import SEATS, find_seat
from server.debate.state.debate import Debate
from server.models.fakes.instances import build_instance
from tests.support.simulation import Script, ScriptAnswer, build_usage, default_script

ALL_SEATS = {**{seat.name: True for seat in SEATS}, "claims": "extracted"}
"""The options that ask for all of them."""


def read_everything(setup: Opened) -> Script:
    """As `default_script`; a seat that reads rounds says something of the shape that it was asked for, at no cost."""
    debate = Debate(setup)

    def script(call: Call) -> ScriptAnswer:
        if call.task != "reading":
            return default_script(call)
        schema = find_seat(call).build_schema(debate)
        if schema is None:
            return Reply(f"In round {call.round} all was said.", build_usage(call.model, cost="0"))
        read = build_instance(schema, setup.question, lambda name: f"The {name} of round {call.round}.")
        return Reply(json.dumps(read), build_usage(call.model, cost="0"))

    return script
