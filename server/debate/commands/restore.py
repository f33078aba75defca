"""Imports a debate: checks that its entries are events with which this release can continue."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from server.debate.commands.formats import FORMATS
from server.debate.commands.open import check_debaters
from server.debate.commands.phases import check_phase_sequence
from server.debate.commands.requests import DebaterInput
from server.debate.facts.errors import InvalidRequestError, require
from server.debate.facts.events import Event, Opened, load
from server.debate.facts.state import Debate
from server.debate.facts.text import collapse_whitespace
from server.debate.rules.schedule import find_voters
from server.debate.rules.transitions import IllegalEvent, apply
from server.debate.rules.verdict import COUNTING_RULES
from server.debate.schemas.output_schema import check_schema

NEWER_RELEASE_HINT = "The file may be of a later release: update counterpoint-mcp."


def rebuild_debate(bodies: Sequence[Mapping[str, Any]]) -> Debate:
    """Replay the events of an imported journal.

    Raises:
        InvalidRequestError: an event cannot be read or cannot happen; the text names the first such entry.
    """
    debate: Debate | None = None
    for seq, body in enumerate(bodies, start=1):
        event = parse_event(seq, body)
        if isinstance(event, Opened) and debate is None:
            check_setup(event)
        try:
            debate = apply(debate, event)
        except IllegalEvent as error:
            message = f"Entry {seq} ({event.kind}) cannot follow those before it: {error}."
            raise InvalidRequestError(message) from None
    if debate is None:
        raise InvalidRequestError("There is no entry: a debate begins with one that opens it.")
    if debate.round < debate.setup.forked_at_round:
        raise InvalidRequestError("Entry 1 (opened) says that it was forked after rounds that are not there.")
    return debate


def parse_event(seq: int, body: Mapping[str, Any]) -> Event:
    try:
        return load(body)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        kind = collapse_whitespace(str(body.get("kind")))[:40]
        problem = f"cannot be read: {'.'.join(map(str, first['loc'][1:]))[:60]} {first['msg']}"
        if first["type"].startswith("union_tag"):
            problem = "is of a kind that is unknown here"
        raise InvalidRequestError(f"Entry {seq} ({kind}) {problem}. {NEWER_RELEASE_HINT}") from None


def check_setup(setup: Opened) -> None:
    """Check that `open_debate` could have made this set-up, as far as later steps depend on that."""
    seats = [DebaterInput.model_construct(**debater.model_dump()) for debater in setup.debaters]
    participants = {phase.participants for phase in setup.phases}
    counts_ballots = setup.counting in COUNTING_RULES.keys() - {"judges", "moderator"}
    try:
        check_debaters(seats, next(iter(FORMATS.values())))  # any format will do: all have a stance by now
        check_phase_sequence(setup.phases)
        if setup.output_schema:
            check_schema(json.loads(setup.output_schema))
        require(
            len({phase.name for phase in setup.phases}) == len(setup.phases)
            and (not setup.counting or (counts_ballots and find_voters(setup)))
            and bool(setup.judges.models) == ("judges" in participants)
            and bool(setup.synthesizer) == ("synthesizer" in participants)
            and all(setup.moderator for phase in setup.phases if phase.order == "moderated")
            and all(setup.moderator for p in setup.phases if p.block and p.block.until == "moderator"),
            "its phases and seats do not fit together.",
        )
    except (InvalidRequestError, ValueError, RecursionError) as error:
        raise InvalidRequestError(f"Entry 1 (opened) opens no debate: {error}") from None
