"""Who holds a lease, and whether that process is still there."""

import os
import platform
import secrets
from contextlib import suppress
from pathlib import Path


def new_owner() -> str:
    """A name for this process: machine, process number, and something nobody else has."""
    return f"{machine()}:{os.getpid()}:{secrets.token_hex(6)}"


def is_gone(owner: str) -> bool:
    """Whether a process of this machine certainly does not exist any more.

    False wherever that cannot be told: for another machine or container, and on Windows, where asking
    after a process the POSIX way would interrupt it. Such a lease runs out by itself.
    """
    where, _, rest = owner.rpartition(":")[0].rpartition(":")
    if os.name != "posix" or where != machine() or not rest.isdigit():
        return False
    try:
        os.kill(int(rest), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def machine() -> str:
    """This machine's name; two containers on one machine are two machines, for they count processes apart."""
    namespace = ""
    with suppress(OSError):  # only Linux has it
        namespace = str(Path("/proc/self/ns/pid").readlink())
    return f"{platform.node()}/{namespace}"
