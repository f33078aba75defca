"""Files that appear whole or not at all."""

import os
import secrets
import shutil
from pathlib import Path


def write_atomically(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """Replace a file, also where the power fails meanwhile. Raises OSError.

    The permissions of an existing file are kept, unless it is `private`: then its owner alone may read it.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    data = content.encode(errors="replace") if isinstance(content, str) else content
    try:
        draft.touch(0o600 if private or path.exists() else 0o666, exist_ok=False)
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists() and not private:
            shutil.copymode(path, draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
