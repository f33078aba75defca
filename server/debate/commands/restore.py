"""Debates from another database: whether their entries form a debate that this release can continue."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from server.debate.commands.formats import FORMATS
from server.debate.commands.open import check_debaters
from server.debate.commands.requests import DebaterInput
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Event, Opened, load
from server.debate.facts.state import Debate
from server.debate.facts.text import collapse_whitespace
from server.debate.rules.schedule import find_voters
from server.debate.rules.transitions import IllegalEvent, apply
from server.debate.rules.verdict import COUNTING_RULES
from server.debate.schemas.output_schema import check_schema

NEWER_RELEASE_HINT = "The file may be of a later release: update counterpoint-mcp."


def rebuild_debate(bodies: Sequence[Mapping[str, Any]]) -> Debate:
    """Rebuild a debate from the bodies of its journal entries.

    Raises:
        InvalidRequestError: they form none; the text names the first entry that is not possible.
    """
    debate: Debate | None = None
    for seq, body in enumerate(bodies, start=1):
        event = parse_event(seq, body)
        if isinstance(event, Opened) and debate is None:
            check_setup(event)
        try:
            debate = apply(debate, event)
        except IllegalEvent as error:
            raise InvalidRequestError(
                f"Entry {seq} ({event.kind}) cannot follow those before it: {error}."
            ) from None
    if debate is None:
        raise InvalidRequestError("There is no entry: a debate begins with one that opens it.")
    if debate.round < debate.setup.forked_at_round:
        raise InvalidRequestError("Entry 1 (opened) says that it was forked after rounds that are not there.")
    return debate


def parse_event(seq: int, body: Mapping[str, Any]) -> Event:
    try:
        return load(body)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        kind = collapse_whitespace(str(body.get("kind")))[:40]
        if problem["type"].startswith("union_tag"):
            raise InvalidRequestError(
                f"Entry {seq} is of a kind that is unknown here ({kind}). {NEWER_RELEASE_HINT}"
            ) from None
        where = ".".join(str(part) for part in problem["loc"][1:])[:60]
        raise InvalidRequestError(
            f"Entry {seq} ({kind}) cannot be read: {where} {problem['msg']}. {NEWER_RELEASE_HINT}"
        ) from None


def check_setup(setup: Opened) -> None:
    """Refuse a setup that `open_debate` could not have returned, where later code depends on it."""
    seats = [DebaterInput.model_construct(**debater.model_dump()) for debater in setup.debaters]
    try:
        check_debaters(seats, next(iter(FORMATS.values())))  # any format: each debater has a stance by now
        if setup.output_schema:
            check_schema(json.loads(setup.output_schema))
    except (InvalidRequestError, ValueError, RecursionError) as error:
        raise InvalidRequestError(f"Entry 1 (opened) opens no debate: {error}") from None
    names = [phase.name for phase in setup.phases]
    participants = {phase.participants for phase in setup.phases}
    is_consistent = (
        names
        and len(set(names)) == len(names)
        and (setup.phases[0].is_talk or setup.phases[0].wants == "ballot")
        and any(phase.is_talk for phase in setup.phases)
        and has_valid_counting(setup)
        and bool(setup.judges.models) == ("judges" in participants)
        and bool(setup.synthesizer) == ("synthesizer" in participants)
        and all(setup.moderator for phase in setup.phases if phase.order == "moderated")
    )
    if not is_consistent:
        raise InvalidRequestError(
            "Entry 1 (opened) opens no debate: its phases and seats do not fit together."
        )


def has_valid_counting(setup: Opened) -> bool:
    """Whether a named counting rule is known and counts ballots that the phases hold."""
    counts_ballots = setup.counting in COUNTING_RULES and setup.counting not in ("judges", "moderator")
    return not setup.counting or (counts_ballots and bool(find_voters(setup)))
