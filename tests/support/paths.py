"""Folders of the checkout."""

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from storage.addresses import is_address

ROOT = Path(__file__).parents[2]
NODE = ROOT / "tests" / "node"
GOLDEN = ROOT / "tests" / "golden"


def find_folder(database: str) -> Path:
    """Where files of a test lie: beside its database, or, of an address, beside the server of the tests."""
    if not is_address(database):
        return Path(database).parent
    parts = urlsplit(database)
    folder = Path(parse_qs(parts.query)["host"][0], parts.path[1:])
    folder.mkdir(exist_ok=True)
    return folder
