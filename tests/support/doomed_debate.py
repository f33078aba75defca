"""A debate in a process of its own that kills itself, with SIGKILL, right after a fact of a kind is recorded.

Usage: python -m tests.support.doomed_debate DATABASE LEDGER KIND DEBATE_ID

The debate has a document that nobody can read whole, an analyst, agreement that looks hollow, and an embedding model.
Each call of a model is a line of the ledger. KIND "none": it runs to its end. DEBATE_ID "new": it is started.
"""

import json
import os
import signal
import sys
from functools import partial
from typing import Any

import anyio

from server.compose import open_manager
from server.debate.commands.requests import DebateRequest
from server.engine.database.snapshots import DebateSnapshot
from server.models import Request
from server.models.fakes.scripted import ScriptedModel
from server.settings import Settings
from tests.support.patience import PATIENCE

TEXT = "".join(f"[page {n}]\n" + f"In year {n} the works took {n} weeks.\n" * 40 for n in range(1, 31))
QUESTION = "Should the works go on?"


def reply(request: Request) -> str:
    """All come over to one position after a round, without a reason."""
    summary = request.prompt.summary
    match summary.task:
        case "digest":
            return json.dumps(
                {"summary": f"Works of section {request.seed}.", "quotes": ["works took 7 weeks"]}
            )
        case "ballot":
            is_blind = "Nobody has spoken yet" in request.prompt.messages[-1].content
            labels = [label for label, _ in sorted(summary.positions, key=lambda position: position[1])]
            own = labels[0] if request.seat == "Ada" or not is_blind else labels[1]
            beliefs = dict.fromkeys((*labels, "none"), 0) | {own: 60 + 5 * summary.round}
            beliefs["none"] = 100 - beliefs[own]
            words = {"position": "The works cost too much.", "would_check": "", "open_point": None}
            new = "Taxes." if summary.round > 1 else None
            return json.dumps({"beliefs": beliefs, "moved_by": None, "new_point": new, **words})
        case "extraction":
            rows = [
                {"speaker": label, "words": "The works took weeks", "claim": f"{label} says so."}
                for label, _ in summary.positions
            ]
            return json.dumps({"claims": rows, "left_out": []})
        case "closing":
            return json.dumps({"summary": "So far.", "status": "CONTINUE", "decision": ""})
    wanted = f"[read doc 1: year {summary.round + 6}]"
    return f"The works took weeks, says {request.seat} in round {summary.round}.\n{wanted}"


def build_request() -> dict[str, Any]:
    options = {"claims": "extracted", "ballots": "rounds", "stop": "report", "challenges": "challenge"}
    return {
        "question": QUESTION,
        "format": "settle",
        "debaters": [{"name": "Ada", "stance": "go on"}, {"name": "Ben", "stance": "leave it"}],
        "documents": [{"title": "Works", "text": TEXT}],
        "max_rounds": 4,
        "options": {**options, "limits": {"max_challenges": 1}},
        "run": True,
    }


def count(snapshot: DebateSnapshot, kind: str) -> int:
    return sum(entry.event.kind == kind for entry in snapshot.entries)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def main(database: str, ledger: str, kind: str, debate_id: str) -> None:
    paid = os.open(ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def answer(request: Request) -> str:
        os.write(paid, f"{request.seed} {request.seat}\n".encode())
        return reply(request)

    settings = Settings(db=database, models=("mine",), windows={"mine": 8000}, embeddings="scripted")
    async with open_manager(settings, {"mine": ScriptedModel(answer)}, environ={}) as manager:
        known = 0 if debate_id == "new" else count(await manager.load(debate_id), kind)
        manager.store.subscribe(lambda snapshot: die() if count(snapshot, kind) > known else None)
        if debate_id == "new":
            started = await manager.start(DebateRequest.model_validate(build_request()), actor="test")
            debate_id = started.id
            sys.stdout.write(f"{debate_id}\n")
            sys.stdout.flush()
        else:
            manager.run_to_end(await manager.load(debate_id))
        with anyio.fail_after(PATIENCE):
            await manager.follow(debate_id, wait=30)


if __name__ == "__main__":
    anyio.run(partial(main, *sys.argv[1:]))
