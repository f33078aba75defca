"""Archives: a debate that ended long ago goes to a file, as `counterpoint export` writes it, packed by gzip.

The file is on the disk and was read again before the record leaves the database: whenever this process dies, one of the
two is whole, and most often both.
"""

import gzip
import json
import secrets
from contextlib import suppress
from pathlib import Path

from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import PhaseEntered, Spoke
from server.debate.views.answer import CLOSED
from server.debate.views.verdict import build_verdict
from server.engine.database.errors import StorageUnavailableError
from server.engine.database.snapshots import DebateSnapshot
from server.engine.database.summaries import build_search_text
from server.engine.debates import DebateManager
from server.engine.transfer import export_debate, parse_export
from server.engine.verification import Keys, verify_file
from storage.sqlite.connections.database import sync
from storage.streams import Archive


async def write_archive(manager: DebateManager, snapshot: DebateSnapshot, folder: Path) -> Archive:
    """Write a debate to its file, in a folder for each month, and check what was written. `folder`: absolute.

    Raises:
        InvalidRequestError: nothing can be written there.
        StorageUnavailableError: the debate cannot be read, or its file does not hold.
    """
    entries = snapshot.entries
    path = folder / entries[-1].at[:7] / f"{snapshot.id}.json.gz"
    export = await export_debate(manager, snapshot.id)
    try:
        write_file(path, gzip.compress(json.dumps(export).encode(), mtime=0))
        content = path.read_bytes()
    except OSError as error:
        raise InvalidRequestError(f"{path} cannot be written: {error.strerror}.") from None
    try:
        checks = verify_file(parse_export(content), Keys(), None, manager.clock())
    except InvalidRequestError as error:
        raise StorageUnavailableError(f"Its file, {path}, does not hold: {error}") from None
    for check in checks:
        if check.finding == "wrong":
            raise StorageUnavailableError(f"Its file, {path}, does not hold: {check.text}")
    headline = build_verdict(snapshot.debate).headline or snapshot.status.capitalize()
    words = [entry.event for entry in entries if not isinstance(entry.event, Spoke | PhaseEntered)]
    return Archive(
        str(path),
        headline if headline.endswith((".", *CLOSED)) else f"{headline}.",
        build_search_text(snapshot.debate, words),
        entries[0].at,
        entries[-1].at,
        [entry.seq for entry in entries if entry.restored],
    )


def write_file(path: Path, content: bytes) -> None:
    """Write a file that only this user may read, whole or not at all, as a power failure leaves it. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        partial.touch(mode=0o600)
        partial.write_bytes(content)
        sync(partial)
        partial.replace(path)
        with suppress(PermissionError):  # Windows opens no directories
            for folder in path.parents:  # some are new
                sync(folder)
    finally:
        partial.unlink(missing_ok=True)
