"""Folders of the checkout."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
NODE = ROOT / "tests" / "node"
GOLDEN = ROOT / "tests" / "golden"
