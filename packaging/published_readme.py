"""The README as a package index shows it: with links to the repository, whose address `pyproject.toml` names once."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_IMAGE = re.compile(r"(!\[[^\]]*\]\()(?!https?:|#)")
_LINK = re.compile(r"(\]\()(?!https?:|#)")


class PublishedReadme(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = make_links_absolute(text, metadata["urls"]["Repository"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def make_links_absolute(text: str, repository: str) -> str:
    text = _IMAGE.sub(rf"\g<1>{repository}/raw/HEAD/", text)
    return _LINK.sub(rf"\g<1>{repository}/blob/HEAD/", text)
