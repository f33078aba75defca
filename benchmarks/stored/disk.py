"""What a turn of 1,200 characters takes on the disk: by how much more turns make the same debates larger."""

import tempfile
from pathlib import Path

from benchmarks.stored.texts import TextGenerator
from benchmarks.table import Measurement, shorten
from server.compose import open_manager
from server.debate.commands.requests import DebateRequest
from server.models.fakes.scripted import ScriptedModel
from server.settings import Settings

CHARS = 1200
DEBATES = shorten(60, 2)
DEBATERS = 3
FEW_ROUNDS, MANY_ROUNDS = 2, 8


async def measure_disk() -> list[Measurement]:
    few, many = await measure_file(FEW_ROUNDS), await measure_file(MANY_ROUNDS)
    turns = DEBATES * DEBATERS * (MANY_ROUNDS - FEW_ROUNDS)
    each = (many - few) / turns
    whole = many / (DEBATES * DEBATERS * MANY_ROUNDS)
    return [
        Measurement(
            f"disk for a turn of {CHARS:,} characters",
            each,
            "bytes",
            3000,
            details=f"{each / CHARS:.1f} x its text; with setup, ballots and verdict {whole:,.0f} bytes for each turn",
        )
    ]


async def measure_file(rounds: int) -> int:
    """Bytes of the file, closed, after so many rounds of all debates, each text of its own."""
    texts = TextGenerator(rounds, CHARS)
    debaters = [{"name": name, "stance": f"{name}'s way"} for name in ("Ada", "Ben", "Cy")]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        models = {"fine": ScriptedModel(texts.reply, record_requests=False)}
        async with open_manager(Settings(db=str(path)), models, environ={}) as manager:
            for number in range(DEBATES):
                request = DebateRequest.model_validate(
                    {
                        "question": f"Should we do number {number}?",
                        "format": "verdict",
                        "debaters": debaters,
                        "models": ["fine"],
                        "max_rounds": rounds,
                        "options": {"judges": {"count": 1, "both_orders": False}},
                        "run": True,
                    }
                )
                snapshot = await manager.follow((await manager.start(request, actor="benchmark")).id, wait=60)
                assert len(snapshot.debate.turns) == DEBATERS * rounds, snapshot.status
        return sum(file.stat().st_size for file in path.parent.iterdir())
