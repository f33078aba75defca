"""The tools as clients are shown them: names, descriptions and schemas, read from a file made of their code."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from mcp import types

LISTED_FILE = Path(__file__).with_name("listed.json")
"""The result of `tools/list`. `python -m docs.generate` writes it; a test fails when it is out of date."""


@cache
def load_listed_tools() -> Mapping[str, types.Tool]:
    """By name, in the order in which they are listed."""
    listed = types.ListToolsResult.model_validate_json(LISTED_FILE.read_bytes())
    return {tool.name: tool for tool in listed.tools}
