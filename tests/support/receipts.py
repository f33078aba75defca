"""Exported debates with signed receipts, made from bodies of entries; and what a check of one finds."""

import base64
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from server.debate.records.receipt import build_statement
from server.engine.transfer import build_export, verify_entries
from server.engine.verification import Keys, verify_file
from server.signing import SigningKey
from storage.streams import Entry, format_time
from tests.support.records import Bodies
from tests.support.records import build_export as build_entries_file

NOW = datetime(2030, 12, 1, tzinfo=UTC)
AT = "2026-11-01T10:00:00.000Z"
DEBATE_ID = "k3x9w2m4p7qr"
KEY, OTHER_KEY = SigningKey(b"1" * 32), SigningKey(b"2" * 32)


def build_signed_export(bodies: Bodies, *, key: SigningKey | None = KEY, debate_id: str = DEBATE_ID) -> Any:
    """The whole file, as `counterpoint export` writes it. Raises InvalidRequestError for what is no record."""
    until = next((body["until"] for body in bodies if body.get("until")), "")
    at = format_time(datetime.fromisoformat(until) - timedelta(hours=1)) if until else AT
    entries = [Entry(**entry) for entry in build_entries_file(debate_id, bodies, at=at)["entries"]]
    snapshot = verify_entries(debate_id, entries, NOW)
    envelope = None
    if key and snapshot.debate.ended:
        public_key = base64.b64encode(key.public_key).decode()
        statement = build_statement(debate_id, snapshot.entries, version="0.1.0", public_key=public_key)
        envelope = key.sign(statement)
    return json.loads(json.dumps(build_export(snapshot, entries, envelope)))


def check(data: Any, kept: Any = None, *, keys: Keys | None = None) -> list[tuple[str, str]]:
    """(name, finding) of each check, with the key that has to have signed."""
    keys = keys or Keys(given=KEY.public_key)
    return [(found.name, found.finding) for found in verify_file(data, keys, kept, NOW)]


def describe_wrong(data: Any, kept: Any = None) -> str:
    """What is said to be wrong; "" where nothing is."""
    checks: Sequence[Any] = verify_file(data, Keys(given=KEY.public_key), kept, NOW)
    return " ".join(each.text for each in checks if each.finding == "wrong")
