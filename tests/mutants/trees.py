"""Copies of the project, in which a file is changed while the tests run."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

LINKED = ("node_modules", "environments")
"""Large folders of other hands that nothing writes to: a copy has links to them."""

LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", ".coverage*", ".hypothesis", ".*_cache", ".ci-*", ".mutants", "dist", *LINKED
)


@dataclass(frozen=True)
class Change:
    """One that makes a mutant: a file, by its path in the project, and its whole new text."""

    file: str
    text: bytes


def copy_tree(project: Path, tree: Path) -> Path:
    """Copy with the compiled modules: times of files are kept, so that they stay good."""
    shutil.copytree(project, tree, ignore=LEFT_OUT)
    for name in LINKED:
        for folder in project.glob(f"tests/**/{name}"):
            copied = tree / folder.relative_to(project)
            if copied.parent.is_dir() and not copied.exists():
                copied.symlink_to(folder)
    return tree


@contextmanager
def apply_change(tree: Path, change: Change | None) -> Iterator[None]:
    """Have a file changed, and put it back as it was, with its time.

    What Python compiled of either text is deleted: it is told apart by time in seconds and size alone.
    """
    if change is None:
        yield
        return
    path = tree / change.file
    text, times = path.read_bytes(), path.stat()
    try:
        delete_compiled(path)
        path.write_bytes(change.text)
        yield
    finally:
        path.write_bytes(text)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        delete_compiled(path)


def delete_compiled(path: Path) -> None:
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        compiled.unlink(missing_ok=True)
