"""What the process tells of itself: on stderr, since stdout is for the protocol and for results."""

import logging
import sys

from server.settings import Settings

LOG_FORMAT = "%(levelname)s %(name)s: %(message)s"

OURS = ("server", "storage", "counterpoint", "mcp")
"""Whose records are told below a warning, if that is what was asked for."""


def log_to_stderr(settings: Settings) -> None:
    """Has to come before an MCPServer is built: that sets up logging of its own where there is none."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(worth_telling)
    logging.basicConfig(handlers=[handler], level=settings.log_level, format=LOG_FORMAT)


def worth_telling(record: logging.LogRecord) -> bool:
    """Of libraries only warnings.

    Below that they tell whole statements and requests, with all that is said in a debate and addresses
    that hold keys, and fill the pipe of a client that does not read: then the server stands still.
    """
    return record.levelno >= logging.WARNING or record.name.partition(".")[0] in OURS
