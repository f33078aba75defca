"""Counterpoint as it is installed. Own models use `from counterpoint import Reply, Request, ModelError`.

These names are imported on first use, so `import counterpoint` itself loads nothing. Type checkers read them in
`_interface.pyi`.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from counterpoint._interface import (
        FailureCause,
        Function,
        FunctionCall,
        Message,
        ModelError,
        OnText,
        Prompt,
        PromptSummary,
        Reply,
        Request,
        Usage,
    )

__all__ = [
    "FailureCause",
    "Function",
    "FunctionCall",
    "Message",
    "ModelError",
    "OnText",
    "Prompt",
    "PromptSummary",
    "Reply",
    "Request",
    "Usage",
]

PACKAGE = Path(__file__).parent
INSTALLED_CODE = PACKAGE / "app"
CODE = INSTALLED_CODE if INSTALLED_CODE.is_dir() else PACKAGE.parent
"""The folder of `server` and `storage`: in this package when installed, beside it in a checkout."""


def put_code_first_on_path() -> None:
    """Make `server` and `storage` mean ours, whatever else is installed or on PYTHONPATH.

    Raises:
        ImportError: the process has already imported another package of one of these names.
    """
    folder = str(CODE)
    if folder in sys.path:
        sys.path.remove(folder)
    sys.path.insert(0, folder)
    for name in ("server", "storage"):
        loaded = sys.modules.get(name)
        if loaded and Path(loaded.__file__ or "").parent.resolve() != (CODE / name).resolve():
            raise ImportError(
                f"Counterpoint cannot run in this process: another package named {name!r} is already "
                f"imported ({loaded.__file__}). Run `python -m counterpoint` in a process of its own."
            )


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    put_code_first_on_path()
    return getattr(import_module("server.models"), name)
