"""Builds the documentation site: `python -m docs.site`, into `site`. Needs the group `site` of `pyproject.toml`.

The pages of this folder, and those at the root that they link to, are put together in a folder of their own. Links to
other files of the repository become plain text, because the site does not have them.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
CONFIG = DOCS / "zensical.toml"
ROOT_PAGES = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")

_LINK = re.compile(r"(?<!\!)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\((?!https?:|#)([^)\s]+)\)")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--output", type=Path, default=ROOT / "site", help="the folder  [site]")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stage(folder)
        command = [sys.executable, "-m", "zensical", "build", "--strict"]
        done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)  # noqa: S603
        print(done.stdout + done.stderr)  # noqa: T201
        if done.returncode:
            sys.exit(done.returncode)
        shutil.rmtree(given.output, ignore_errors=True)
        shutil.copytree(folder / "site", given.output)


def stage(folder: Path) -> None:
    """Put the configuration and all pages there."""
    pages = folder / "docs"
    pages.mkdir()
    shutil.copy(CONFIG, folder / "zensical.toml")
    for images in ("images", "screenshots"):
        if (DOCS / images).is_dir():
            shutil.copytree(DOCS / images, pages / images)
    for source in (*sorted(DOCS.glob("*.md")), *(ROOT / name for name in ROOT_PAGES)):
        text = move_links(source.read_text(encoding="utf-8"), source.parent)
        (pages / source.name).write_text(text, encoding="utf-8")


def move_links(text: str, folder: Path) -> str:
    """The page with its links as they are where all pages lie together."""

    def move(found: re.Match[str]) -> str:
        words, target = found[1], found[2]
        path, mark, anchor = target.partition("#")
        file = (folder / path).resolve()
        if file.suffix == ".md" and (
            file.parent == DOCS or (file.parent == ROOT and file.name in ROOT_PAGES)
        ):
            return f"[{words}]({file.name}{mark}{anchor})"
        if file.suffix in (".png", ".svg"):
            return f"[{words}]({file.relative_to(DOCS)})"
        return words

    return _LINK.sub(move, text)


if __name__ == "__main__":
    main()
