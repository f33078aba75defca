"""The receipt of a debate that has ended: an in-toto statement (v1), made from its entries alone.

Models have no keys and sign nothing: the host that recorded the debate attests what it recorded.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import zip_longest
from typing import Any

from server.debate.analysis.confidence import build_confidence
from server.debate.facts.advice import AdviceEvent
from server.debate.facts.escalation import MirrorHeld
from server.debate.facts.events import (
    AnswerEvent,
    Balloted,
    Compared,
    Concluded,
    Ended,
    Judged,
    Recorded,
    RoundClosed,
    Synthesized,
)
from server.debate.facts.setup.opened import Opened
from server.debate.machine.transitions import replay
from server.debate.rules.verdict import count_panel
from server.debate.state.debate import Debate
from server.debate.votes.counting import SYNTHESIS, CountedVote
from server.debate.votes.panel import compare_mirror, weigh_votes
from server.debate.votes.voters import verdict_source

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "counterpoint/receipt/1"
RULES = "counterpoint/rules/1"
"""Names the rules of counting. If a later release counts otherwise, its rules have another name."""

MISSING = object()
"""Equal to nothing that a JSON value holds."""

Json = dict[str, Any]


def find_end(history: Sequence[Recorded]) -> int:
    """The number of the entry that ends the debate; 0 if it has not ended. Other facts may follow it."""
    return next((entry.seq for entry in reversed(history) if isinstance(entry.event, Ended)), 0)


def build_statement(
    debate_id: str,
    history: Sequence[Recorded],
    *,
    version: str,
    public_key: str,
    replayed: Debate | None = None,
) -> Json:
    """The statement about a debate that has ended. `version`: of the software; `public_key`: of the signer, base64.

    `replayed`: the debate after the whole history, if it was replayed already.
    """
    end = find_end(history)
    is_current = replayed is not None and end == len(history)  # facts that follow the end are not signed
    history = history[:end]
    debate = replayed if replayed and is_current else replay(entry.event for entry in history)
    assert debate.ended
    answers = list_deciding_answers(debate, history)
    last_entry = history[-1]
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": f"debate:{debate_id}", "digest": {"sha256": last_entry.hash}}],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "attested_by": "host",
            "signer": {"algorithm": "ed25519", "public_key": public_key},
            "software": {"name": "counterpoint-mcp", "version": version},
            "time": last_entry.at,
            "entries": len(history),
            "ended_seq": last_entry.seq,
            "ending": debate.ended.ending,
            "cause": debate.ended.cause,
            "setup_sha256": hash_setup(debate.opened),
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


def hash_setup(opened: Opened) -> str:
    """SHA-256 of the set-up as canonical JSON, without what has its default: a later release adds fields."""
    setup = opened.model_dump(mode="json", exclude_defaults=True)
    return sha256(
        json.dumps(setup, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
    ).hexdigest()


def list_deciding_answers(debate: Debate, history: Sequence[Recorded]) -> dict[int, AnswerEvent]:
    """The answers behind the result, by the number of their entry."""
    deciding: list[AnswerEvent] = [*debate.judgments, *debate.last_ballots, *debate.advice]
    deciding += debate.round_summaries[-1:] if verdict_source(debate.setup) == "moderator" else ()
    deciding += [answer for answer in (debate.comparison, debate.deliverable) if answer]
    kinds = Judged | Balloted | Compared | RoundClosed | Synthesized | AdviceEvent
    facts = ((entry.seq, entry.event) for entry in history)
    return {seq: event for seq, event in facts if isinstance(event, kinds) and event in deciding}


def describe_answer(seq: int, answer: AnswerEvent) -> Json:
    usage = answer.usage.model_dump(include={"model", "prompt_sha256", "reply_id"})
    return {"seq": seq, "seat": answer.seat, **usage}


def describe_verdict(debate: Debate, answers: Mapping[int, AnswerEvent]) -> Json:
    conclusion = debate.verdict
    if conclusion is None:
        return {"outcome": "", "winner": "", "consensus": "", "votes": [], "dissent": []}
    counted = weigh_votes(debate, conclusion.votes)
    votes = [describe_vote(vote, answers) for vote in counted]
    statement: Json = {
        "outcome": conclusion.outcome,
        "winner": conclusion.winner,
        "consensus": find_consensus(debate, conclusion),
        "votes": votes,
        "dissent": list_dissenters(conclusion, counted),
    }
    if votes:
        count = count_panel(debate, conclusion.votes)
        statement["count"] = {
            "asked": len(votes),
            "voted": sum(bool(vote.side) for vote in counted),
            "ahead": SYNTHESIS if count.ahead.startswith(SYNTHESIS) else count.ahead,
            "support": str(count.support),
            "against": str(count.against),
        }
        confidence = build_confidence(debate, conclusion.votes, count)
        statement["confidence"] = {
            "value": "" if confidence.value is None else f"{confidence.value:.2f}",
            "n": statement["count"]["voted"],
        }
    if isinstance(debate.mirror, MirrorHeld) and (comparison := compare_mirror(debate)):
        mirror = debate.mirror
        statement["mirror"] = {"debate": mirror.debate_id, "head": mirror.head, "agrees": comparison.agrees}
    return statement


def find_consensus(debate: Debate, conclusion: Concluded) -> str:
    """How much of all seats asked supports the finding; "" without a finding."""
    is_found = conclusion.outcome in ("decided", "leaning", "synthesis")
    return debate.agreements[-1].consensus if is_found and debate.agreements else ""


def describe_vote(vote: CountedVote, answers: Mapping[int, AnswerEvent]) -> Json:
    return {
        "seat": vote.seat,
        "model": vote.model,
        "choice": name_choice(vote),
        "margin": vote.margin,
        "weight": str(vote.weight),
        "abstains": vote.abstains,
        "readings": [seq for seq, answer in answers.items() if answer.seat == vote.seat],
    }


def name_choice(vote: CountedVote) -> str:
    """A debater's name; "*" for a position made of the others, or of its own; "" for none."""
    return SYNTHESIS if vote.side.startswith(SYNTHESIS) else vote.side


def list_dissenters(conclusion: Concluded, votes: Iterable[CountedVote]) -> list[str]:
    """Who voted otherwise than the finding; [] without a finding."""
    side = SYNTHESIS if conclusion.outcome == "synthesis" else conclusion.winner
    return [vote.seat for vote in votes if side and not vote.abstains and name_choice(vote) != side]


def find_difference(actual: Any, expected: Any, path: str = "") -> str:
    """Where two JSON values first differ, as `a.b[2]`; "" if they are equal, also in their types."""
    if isinstance(actual, dict) and isinstance(expected, dict):
        names = sorted({*actual, *expected})
        parts = [
            (f"{path}.{name}".lstrip("."), actual.get(name, MISSING), expected.get(name, MISSING))
            for name in names
        ]
    elif isinstance(actual, list) and isinstance(expected, list):
        pairs = enumerate(zip_longest(actual, expected, fillvalue=MISSING))
        parts = [(f"{path}[{number}]", *pair) for number, pair in pairs]
    else:
        return "" if type(actual) is type(expected) and actual == expected else path or "all of it"
    differences = (find_difference(left, right, where) for where, left, right in parts)
    return next(filter(None, differences), "")
