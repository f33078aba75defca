"""Keys of providers that are stored on this machine: in the keyring of the system, or in a file of its user alone.

The file also says which keys the keyring holds, because a keyring cannot be asked for that. Stored keys become
variables of the environment of this process, where every client library looks. One that is set already is left alone.
"""

import json
import logging
import os
import re
import secrets
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import platformdirs
from anyio import to_thread

from server.debate.facts.errors import require
from server.models.providers import keyrings
from server.models.providers.keyrings import KeyStoreError
from server.redaction import MIN_LENGTH, is_secret_name, learn_secrets, redact_error

MAX_FILE_BYTES = 200_000
MAX_KEY_LENGTH = 8_000
SET_AGAIN = "Remove it, and set the keys again: `counterpoint keys set NAME`."
NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # Windows has none
_VARIABLE = re.compile(r"(?!COUNTERPOINT_)[A-Z][A-Z0-9_]{0,99}")
_KEY = re.compile(r"[!-~]+")  # what may stand in a header: ASCII without spaces

logger = logging.getLogger(__name__)

origins: dict[str, str] = {}
"""Where this process has the values of variables from that it took from the store."""

problem = ""
"""Why stored keys are not in use, and what to do about it; "" if all are."""


class Stored(NamedTuple):
    in_file: Mapping[str, str]  # values by variable
    in_keyring: frozenset[str]  # variables


NOTHING = Stored({}, frozenset())


def default_path() -> Path:
    return Path(platformdirs.user_config_dir("counterpoint", appauthor=False)) / "keys"


def find_variable(name: str, known: dict[str, str]) -> str:
    """The variable for the name of a provider, or of a variable. known: variables by provider.

    Raises InvalidRequestError.
    """
    if name.lower() in known:
        return known[name.lower()]
    require(
        redact_error(name) == name,
        "This looks like a key. Other users can see what stands on a command line: replace the key at its provider, "
        "and give its name here; the key itself is asked for.",
    )
    variable = name if is_variable(name) else f"{name.upper().replace('-', '_')}_API_KEY"
    require(
        is_variable(variable) and (variable == name or name.islower()),
        "This is no name of a key: write a provider, such as openai, or a variable, such as OPENAI_API_KEY.",
    )
    return variable


def is_variable(name: str) -> bool:
    """Whether a stored key may become this variable: nothing else of an environment can be set by the file."""
    return _VARIABLE.fullmatch(name) is not None and is_secret_name(name)


def check_key(value: str) -> str:
    """The key without white space around it. From now on it is redacted. Raises InvalidRequestError."""
    value = value.strip()
    learn_secrets([value])
    require(
        MIN_LENGTH <= len(value) <= MAX_KEY_LENGTH
        and value.isascii()
        and re.fullmatch(r"[!-~]+", value) is not None,
        f"This is no key: a key has {MIN_LENGTH} to {MAX_KEY_LENGTH:,} characters of ASCII, without spaces.",
    )
    return value


def load(environ: MutableMapping[str, str] = os.environ) -> None:
    """Put stored keys into the environment where it lacks them. What stands in the way is logged, and in `problem`."""
    global problem  # noqa: PLW0603  (as the environment is, it is of the whole process)
    problem = ""
    try:
        stored = read_stored()
        learn_secrets(stored.in_file.values())
        take(environ, stored.in_file, f"the file {default_path()}")
        if missing := sorted(name for name in stored.in_keyring if not environ.get(name)):
            title, values = keyrings.read(missing)
            learn_secrets(values.values())
            take(environ, values, title)
    except KeyStoreError as error:
        problem = str(error)
        logger.warning("%s", problem)


async def load_for(environ: Mapping[str, str]) -> None:
    """As `load`, if this is the environment of the process, and while others go on: a keyring may take its time."""
    if environ is os.environ and default_path().exists():
        await to_thread.run_sync(load)


def take(environ: MutableMapping[str, str], values: Mapping[str, str], origin: str) -> None:
    for name, value in values.items():
        if not environ.get(name):
            environ[name] = value
            origins[name] = origin


def store(variable: str, value: str) -> str:
    """Store a key, and return where it is now. Raises KeyStoreError."""
    with change_stored() as change:
        stored = read_stored()
        others = {name: text for name, text in stored.in_file.items() if name != variable}
        if backend := keyrings.find_keyring():
            keyrings.write(backend, variable, value)
            change(Stored(others, stored.in_keyring | {variable}))
            return f"the keyring ({backend.name})"
        change(Stored(others | {variable: value}, stored.in_keyring - {variable}))
        return f"the file {default_path()}"


def remove(variable: str) -> bool:
    """Forget a key; False if there is none. Raises KeyStoreError."""
    with change_stored() as change:
        stored = read_stored()
        if variable not in stored.in_file and variable not in stored.in_keyring:
            return False
        if variable in stored.in_keyring and (backend := keyrings.find_keyring()):
            keyrings.delete(backend, variable)
        others = {name: text for name, text in stored.in_file.items() if name != variable}
        change(Stored(others, stored.in_keyring - {variable}))
        return True


def read_stored() -> Stored:
    """What the file says. Raises KeyStoreError for one that others can read or that is not as we write it."""
    path = default_path()
    try:
        descriptor = os.open(path, os.O_RDONLY | NO_LINK | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return NOTHING
    except OSError as error:
        reason = "it is a link" if path.is_symlink() else error.strerror
        raise KeyStoreError(f"The stored keys are not read: {path}: {reason}. {SET_AGAIN}") from None
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(file.fileno())
        check_folder(path.parent)
        check_owner(path, found, 0o077, "read or changed", "600")
        content = file.read(MAX_FILE_BYTES + 1) if stat.S_ISREG(found.st_mode) else b""
    try:
        data = json.loads(content)
        stored = Stored(dict(data["file"]), frozenset(data["keyring"]))
        are_names = all(map(is_variable, [*stored.in_file, *stored.in_keyring]))
        if len(content) > MAX_FILE_BYTES or not (
            are_names and all(map(_KEY.fullmatch, stored.in_file.values()))
        ):
            raise ValueError("not as it is written here")  # noqa: TRY301
    except (ValueError, LookupError, TypeError, RecursionError):
        raise KeyStoreError(f"The stored keys in {path} cannot be read. {SET_AGAIN}") from None
    return stored


def check_folder(folder: Path) -> None:
    check_owner(folder, folder.stat(), 0o022, "changed", "go-w")


def check_owner(path: Path, found: os.stat_result, others: int, what: str, mode: str) -> None:
    """Raises KeyStoreError where other users have rights (bits of `others`)."""
    if sys.platform != "win32":
        refused = "The stored keys are not read"
        if found.st_uid != os.geteuid():
            raise KeyStoreError(f"{refused}: {path} belongs to another user. Run: chown $USER {path}")
        if found.st_mode & others:
            rights = f"can be {what} by others (mode {found.st_mode & 0o777:03o})"
            raise KeyStoreError(f"{refused}: {path} {rights}. Run: chmod {mode} {path}")


@contextmanager
def change_stored() -> Iterator[Callable[[Stored], None]]:
    """A function that replaces the file, while no other process changes it. Raises KeyStoreError."""
    path = default_path()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_folder(path.parent)
        flags = os.O_RDWR | os.O_CREAT | NO_LINK
        with os.fdopen(os.open(path.with_name("keys.lock"), flags, 0o600), "r+b") as lock:
            wait_for_lock(lock.fileno())
            yield lambda stored: replace_file(path, stored)
    except OSError as error:
        raise KeyStoreError(f"The keys in {path} cannot be changed: {error.strerror or error}.") from None


def wait_for_lock(descriptor: int) -> None:
    """It is given up when the file is closed, and by the system when the process dies."""
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415

        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
    else:
        import fcntl  # noqa: PLC0415

        fcntl.flock(descriptor, fcntl.LOCK_EX)


def replace_file(path: Path, stored: Stored) -> None:
    """Raises OSError. The file is there whole at any time, and never readable by others."""
    data = {"file": dict(sorted(stored.in_file.items())), "keyring": sorted(stored.in_keyring)}
    draft = path.with_name(f".keys.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(json.dumps(data, indent=1) + "\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
