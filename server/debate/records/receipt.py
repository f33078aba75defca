"""What a receipt says of a debate that has ended: an in-toto statement (v1) made from its entries alone.

Models hold no keys and sign nothing: the host that recorded the debate attests what it recorded.
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import chain
from typing import Any

from server.debate.analysis.confidence import build_confidence
from server.debate.facts.beliefs import Vote
from server.debate.facts.escalation import MirrorHeld
from server.debate.facts.events import (
    AnswerEvent,
    Balloted,
    Concluded,
    Ended,
    Judged,
    Recorded,
    RoundClosed,
    Synthesized,
)
from server.debate.facts.setup.opened import Opened
from server.debate.machine.transitions import replay
from server.debate.state.debate import Debate
from server.debate.votes.panel import compare_mirror, find_voter_model, list_seats
from server.debate.votes.verdict import count_panel
from server.debate.votes.voters import verdict_source
from server.debate.votes.voting import SYNTHESIS

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "counterpoint/receipt/1"
RULES = "counterpoint/rules/1"
"""Names the rules of counting: those of a later release that come to something else have another name."""

Json = dict[str, Any]


def find_end(history: Sequence[Recorded]) -> int:
    """The number of the entry that ends the debate; 0 if it has not ended. Facts may follow it."""
    return next((entry.seq for entry in reversed(history) if isinstance(entry.event, Ended)), 0)


def build_statement(
    debate_id: str,
    history: Sequence[Recorded],
    *,
    version: str,
    public_key: str,
    reached: Debate | None = None,
) -> Json:
    """The statement about a debate that has ended. `version`: of the software; `public_key`: of who signs, base64.

    `reached`: what replaying the history leads to, where that was done already.
    """
    end = find_end(history)
    is_reached = reached is not None and end == len(history)  # facts that follow the end are not signed
    history = history[:end]
    debate = reached if reached and is_reached else replay(entry.event for entry in history)
    assert debate.ended
    answers = find_deciding_answers(debate, history)
    last = history[-1]
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": f"debate:{debate_id}", "digest": {"sha256": last.hash}}],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "attested_by": "host",
            "signer": {"algorithm": "ed25519", "public_key": public_key},
            "software": {"name": "counterpoint-mcp", "version": version},
            "time": last.at,
            "entries": len(history),
            "ended_seq": last.seq,
            "ending": debate.ended.ending,
            "cause": debate.ended.cause,
            "setup_sha256": hash_setup(history),
            "rule": {
                "rules": RULES,
                "name": verdict_source(debate.setup),
                "threshold": str(debate.threshold or ""),
                "voting": debate.voting.model_dump(mode="json") if debate.voting else None,
            },
            **describe_verdict(debate, answers),
            "answers": [describe_answer(seq, answer) for seq, answer in answers.items()],
        },
    }


def hash_setup(history: Sequence[Recorded]) -> str:
    """SHA-256 of the set-up as canonical JSON, without what has its default: a later release adds fields."""
    opened = history[0].event
    assert isinstance(opened, Opened)
    setup = opened.model_dump(mode="json", exclude_defaults=True)
    return sha256(
        json.dumps(setup, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
    ).hexdigest()


def find_deciding_answers(debate: Debate, history: Sequence[Recorded]) -> dict[int, AnswerEvent]:
    """The answers that the result rests on, by the number of their entry."""
    deciding: list[AnswerEvent] = [*debate.judgments, *debate.last_ballots]
    deciding += debate.round_summaries[-1:] if verdict_source(debate.setup) == "moderator" else ()
    deciding += [debate.deliverable] if debate.deliverable else []
    found: dict[int, AnswerEvent] = {}
    for entry in history:
        event = entry.event
        if isinstance(event, Judged | Balloted | RoundClosed | Synthesized) and event in deciding:
            found[entry.seq] = event
    return found


def describe_answer(seq: int, answer: AnswerEvent) -> Json:
    usage = answer.usage
    hashes = {"prompt_sha256": usage.prompt_sha256, "reply_id": usage.reply_id}
    return {"seq": seq, "seat": answer.seat, "model": usage.model, **hashes}


def describe_verdict(debate: Debate, answers: Mapping[int, AnswerEvent]) -> Json:
    found = debate.verdict
    if found is None:
        return {"outcome": "", "winner": "", "consensus": "", "votes": [], "dissent": []}
    votes = [describe_vote(debate, vote, answers) for vote in found.votes]
    told: Json = {
        "outcome": found.outcome,
        "winner": found.winner,
        "consensus": find_consensus(debate, found),
        "votes": votes,
        "dissent": find_dissent(found),
    }
    if votes:
        count = count_panel(debate, found.votes)
        seats = list_seats(debate, found.votes)
        told["count"] = {
            "asked": len(seats),
            "voted": sum(bool(seat.side) for seat in seats),
            "ahead": count.ahead,
            "support": str(count.support),
            "against": str(count.against),
        }
        confidence = build_confidence(debate, found.votes, count)
        told["confidence"] = {
            "value": f"{confidence.value:.2f}",
            "method": confidence.basis,
            "n": told["count"]["voted"],
        }
    if isinstance(debate.mirror, MirrorHeld) and (compared := compare_mirror(debate)):
        held = debate.mirror
        told["mirror"] = {"debate": held.debate_id, "head": held.head, "agrees": compared.agrees}
    return told


def find_consensus(debate: Debate, found: Concluded) -> str:
    """How much of all seats asked is behind the finding; "" where there is none."""
    is_found = found.outcome in ("decided", "leaning", "synthesis")
    return debate.agreements[-1].consensus if is_found and debate.agreements else ""


def describe_vote(debate: Debate, vote: Vote, answers: Mapping[int, AnswerEvent]) -> Json:
    return {
        "seat": vote.judge,
        "model": find_voter_model(debate, vote.judge),
        "choice": find_side(vote),
        "margin": vote.margin,
        "weight": vote.weight,
        "abstains": vote.abstains,
        "readings": [seq for seq, answer in answers.items() if answer.seat == vote.judge],
    }


def find_side(vote: Vote) -> str:
    """A debater's name; "*" for a position made of the others, "" for none."""
    return SYNTHESIS if vote.for_synthesis else vote.winner


def find_dissent(found: Concluded) -> list[str]:
    """Who voted for something else than what was found. Where nothing was, nobody dissents."""
    side = SYNTHESIS if found.outcome == "synthesis" else found.winner
    return [vote.judge for vote in found.votes if side and not vote.abstains and find_side(vote) != side]


def find_difference(given: Any, expected: Any, path: str = "") -> str:
    """Where two JSON values differ first, as `a.b[2]`; "" if they are the same, types included."""
    if isinstance(given, dict) and isinstance(expected, dict):
        names = sorted({*given, *expected})
        parts = (
            (
                f"{path}.{name}".lstrip("."),
                name in given and name in expected,
                given.get(name),
                expected.get(name),
            )
            for name in names
        )
    elif isinstance(given, list) and isinstance(expected, list):
        count = min(len(given), len(expected))
        rest = [(f"{path}[{count}]", False, None, None)] if len(given) != len(expected) else []
        both = ((f"{path}[{n}]", True, given[n], expected[n]) for n in range(count))
        parts = chain(both, rest)  # type: ignore[assignment]
    else:
        return "" if type(given) is type(expected) and given == expected else path or "all of it"
    for where, is_in_both, one, other in parts:
        if not is_in_both:
            return where
        if found := find_difference(one, other, where):
            return found
    return ""
