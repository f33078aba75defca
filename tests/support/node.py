"""Node.js, and packages for it that a folder of the tests names in its package.json."""

import shutil
from pathlib import Path

import pytest


def find_node(folder: Path) -> str:
    """The Node.js that is pinned in a folder, or else the machine's. Skips the test without the folder's packages."""
    modules = folder / "node_modules"
    found = next(modules.glob("node-linux-*/bin/node"), None) or shutil.which("node")
    if found is None or not modules.is_dir():
        pytest.skip(f"needs Node.js and `npm install` in tests/{folder.name}")
    return str(found)
