"""Files that commands write for people."""

import os
import secrets
import shutil
from pathlib import Path


def write_atomically(path: Path, text: str, *, private: bool = False) -> None:
    """Replace a file completely or not at all. Raises OSError.

    The permissions of an existing file are kept. A new `private` file is readable by its owner alone.
    """
    copy = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        copy.touch(0o600 if private or path.exists() else 0o666, exist_ok=False)
        with copy.open("w", encoding="utf-8", newline="\n", errors="replace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, copy)
        copy.replace(path)
    finally:
        copy.unlink(missing_ok=True)
