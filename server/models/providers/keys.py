"""Keys of providers stored on this machine: in the keyring of the system, or in a file that only its user can read.

The file also lists the keys in the keyring, because a keyring cannot list them. Stored keys become environment
variables of this process, where every client library looks. A variable that is set already is left alone.
"""

import json
import logging
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import platformdirs
from anyio import to_thread

from server.background_tasks import start_thread
from server.debate.facts.errors import DebateError, require
from server.files import write_atomically
from server.redaction import MIN_LENGTH, is_secret_name, learn_secrets, redact_error

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE = "counterpoint"  # the name under which the keyring holds our keys
WAIT_SECONDS = 5.0  # for a keyring that may be asking a person to unlock it
USE_FILE = (
    "To do without it, set the keys with PYTHON_KEYRING_BACKEND=keyring.backends.fail.Keyring in the environment, and "
    "a file is used."
)
MAX_FILE_BYTES = 200_000
MAX_KEY_LENGTH = 8_000
SET_AGAIN = "Remove it, and set the keys again: `counterpoint keys set NAME`."
NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # Windows has none
_VARIABLE = re.compile(r"(?!COUNTERPOINT_)[A-Z][A-Z0-9_]{0,99}")
_KEY = re.compile(r"[!-~]+")  # what may stand in a header: ASCII without spaces

logger = logging.getLogger(__name__)

origins: dict[str, str] = {}
"""Where the values of variables came from, for those that this process took from the store."""

problem = ""
"""Why stored keys are not in use, and what to do about it; "" if all are."""


class KeyStoreError(DebateError):
    """Stored keys cannot be read or written. The text says what to do, and never holds a key."""


class StoredKeys(NamedTuple):
    in_file: Mapping[str, str]  # values by variable
    in_keyring: frozenset[str]  # variables


NO_KEYS = StoredKeys({}, frozenset())


def default_path() -> Path:
    return Path(platformdirs.user_config_dir("counterpoint", appauthor=False)) / "keys"


def parse_variable(name: str, variables: dict[str, str]) -> str:
    """The variable that a provider or a variable names. `variables`: by provider. Raises InvalidRequestError."""
    if name.lower() in variables:
        return variables[name.lower()]
    require(
        redact_error(name) == name,
        "This looks like a key. Other users can see what stands on a command line: replace the key at its provider, "
        "and give its name here; the key itself is asked for.",
    )
    variable = name if is_variable(name) else f"{name.upper().replace('-', '_')}_API_KEY"
    require(
        is_variable(variable) and (variable == name or name.islower()),
        "This is not the name of a key: write a provider, such as openai, or a variable, such as OPENAI_API_KEY.",
    )
    return variable


def is_variable(name: str) -> bool:
    """Whether a stored key may become this variable: the file must not be able to set any other variable."""
    return _VARIABLE.fullmatch(name) is not None and is_secret_name(name)


def check_key(value: str) -> str:
    """The key without surrounding white space. It is redacted from now on. Raises InvalidRequestError."""
    value = value.strip()
    learn_secrets([value])
    require(
        MIN_LENGTH <= len(value) <= MAX_KEY_LENGTH and _KEY.fullmatch(value) is not None,
        f"This is not a key: a key has {MIN_LENGTH} to {MAX_KEY_LENGTH:,} letters, digits and signs, without spaces. "
        "Copy it once more from the page of its provider.",
    )
    return value


def load(environ: MutableMapping[str, str] = os.environ) -> None:
    """Put stored keys into the environment where it lacks them. A failure is logged, and kept in `problem`."""
    global problem  # noqa: PLW0603  (as the environment is, it is of the whole process)
    problem = ""
    try:
        stored_keys = read_stored()
        learn_secrets(stored_keys.in_file.values())
        add_to_environment(environ, stored_keys.in_file, f"the file {default_path()}")
        if missing_names := sorted(name for name in stored_keys.in_keyring if not environ.get(name)):
            title, values = read_keyring(missing_names)
            learn_secrets(values.values())
            add_to_environment(environ, values, title)
    except KeyStoreError as error:
        problem = str(error)
        logger.warning("%s", problem)


async def load_for(environ: Mapping[str, str]) -> None:
    """As `load`, in a thread because a keyring may be slow, and only if this is the environment of the process."""
    if environ is os.environ and default_path().exists():
        await to_thread.run_sync(load)


def add_to_environment(environ: MutableMapping[str, str], values: Mapping[str, str], origin: str) -> None:
    for name, value in values.items():
        if not environ.get(name):
            environ[name] = value
            origins[name] = origin


def use(variable: str, value: str, origin: str, environ: MutableMapping[str, str]) -> bool:
    """Use a key that was just stored, unless the environment has another of its own."""
    if environ.get(variable) and variable not in origins:
        return False
    environ[variable], origins[variable] = value, origin
    return True


def store(variable: str, value: str) -> str:
    """Store a key, and return where it is now. Raises KeyStoreError."""
    with lock_file() as change:
        stored_keys = read_stored()
        other_keys = {name: text for name, text in stored_keys.in_file.items() if name != variable}
        if backend := load_keyring():
            write_to_keyring(backend, variable, value)
            change(StoredKeys(other_keys, stored_keys.in_keyring | {variable}))
            return f"the keyring ({backend.name})"
        change(StoredKeys(other_keys | {variable: value}, stored_keys.in_keyring - {variable}))
        return f"the file {default_path()}"


def remove(variable: str) -> bool:
    """Forget a key; False if there is none. Raises KeyStoreError."""
    with lock_file() as change:
        stored_keys = read_stored()
        if variable not in stored_keys.in_file and variable not in stored_keys.in_keyring:
            return False
        if variable in stored_keys.in_keyring and (backend := load_keyring()):
            delete_from_keyring(backend, variable)
        other_keys = {name: text for name, text in stored_keys.in_file.items() if name != variable}
        change(StoredKeys(other_keys, stored_keys.in_keyring - {variable}))
        return True


def read_stored() -> StoredKeys:
    """The content of the file. Raises KeyStoreError if other users can read it, or if it is not in our format."""
    path = default_path()
    try:
        descriptor = os.open(path, os.O_RDONLY | NO_LINK | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return NO_KEYS
    except OSError as error:
        reason = "it is a link" if path.is_symlink() else error.strerror
        raise KeyStoreError(f"The stored keys are not read: {path}: {reason}. {SET_AGAIN}") from None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        check_folder(path.parent)
        check_owner(path, status, 0o077, "read or changed", "600")
        content = file.read(MAX_FILE_BYTES + 1) if stat.S_ISREG(status.st_mode) else b""
    with suppress(ValueError, LookupError, TypeError, RecursionError):
        data = json.loads(content)
        stored_keys = StoredKeys(dict(data["file"]), frozenset(data["keyring"]))
        are_names = all(map(is_variable, [*stored_keys.in_file, *stored_keys.in_keyring]))
        are_keys = all(map(_KEY.fullmatch, stored_keys.in_file.values()))
        if are_names and are_keys and len(content) <= MAX_FILE_BYTES:
            return stored_keys
    raise KeyStoreError(f"The stored keys in {path} cannot be read. {SET_AGAIN}")


def check_folder(folder: Path) -> None:
    check_owner(folder, folder.stat(), 0o022, "changed", "go-w")


def check_owner(path: Path, status: os.stat_result, rights_of_others: int, change: str, mode: str) -> None:
    """Raises KeyStoreError where other users have rights (bits of `others`)."""
    if sys.platform != "win32":
        refusal = "The stored keys are not read"
        if status.st_uid != os.geteuid():
            raise KeyStoreError(f"{refusal}: {path} belongs to another user. Run: chown $USER {path}")
        if status.st_mode & rights_of_others:
            rights = f"can be {change} by others (mode {status.st_mode & 0o777:03o})"
            raise KeyStoreError(f"{refusal}: {path} {rights}. Run: chmod {mode} {path}")


@contextmanager
def lock_file() -> Iterator[Callable[[StoredKeys], None]]:
    """Lock the file against other processes, and yield a function that replaces it. Raises KeyStoreError."""
    path = default_path()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_folder(path.parent)
        flags = os.O_RDWR | os.O_CREAT | NO_LINK
        with os.fdopen(os.open(path.with_name("keys.lock"), flags, 0o600), "r+b") as lock:
            wait_for_lock(lock.fileno())
            yield lambda stored_keys: write_atomically(path, format_file(stored_keys), private=True)
    except OSError as error:
        raise KeyStoreError(f"The keys in {path} cannot be changed: {error.strerror or error}.") from None


def wait_for_lock(descriptor: int) -> None:
    """Wait for the lock. It ends when the file is closed, or when the process dies."""
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415

        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
    else:
        import fcntl  # noqa: PLC0415

        fcntl.flock(descriptor, fcntl.LOCK_EX)


def format_file(stored_keys: StoredKeys) -> str:
    data = {"file": dict(sorted(stored_keys.in_file.items())), "keyring": sorted(stored_keys.in_keyring)}
    return json.dumps(data, indent=1) + "\n"


def load_keyring() -> "KeyringBackend | None":
    """The keyring, or None where there is none. Raises KeyStoreError."""
    try:
        import keyring  # noqa: PLC0415  (an extra)
        from keyring.backends import fail, null  # noqa: PLC0415
    except ImportError:
        return None
    with explain_failure("The keyring"):
        backend = keyring.get_keyring()
    return None if isinstance(backend, fail.Keyring | null.Keyring) else backend


def write_to_keyring(backend: "KeyringBackend", variable: str, value: str) -> None:
    """Raises KeyStoreError, also if the value is not there afterwards."""
    with explain_failure(f"The keyring ({backend.name})"):
        backend.set_password(SERVICE, variable, value)
        is_kept = backend.get_password(SERVICE, variable) == value
    if not is_kept:
        raise KeyStoreError(f"The keyring ({backend.name}) did not keep the key. {USE_FILE}")


def delete_from_keyring(backend: "KeyringBackend", variable: str) -> None:
    """Raises KeyStoreError, not for a key that is gone already."""
    from keyring.errors import PasswordDeleteError  # noqa: PLC0415

    with explain_failure(f"The keyring ({backend.name})"):
        try:
            backend.delete_password(SERVICE, variable)
        except PasswordDeleteError:
            if backend.get_password(SERVICE, variable) is not None:
                raise


def read_keyring(variables: list[str]) -> tuple[str, dict[str, str]]:
    """(the keyring's title, its values by variable). Raises KeyStoreError, at the latest after `WAIT_SECONDS`."""

    def read_all() -> tuple[str, dict[str, str]]:
        backend = load_keyring()
        if backend is None:
            names = ", ".join(variables)
            raise KeyStoreError(
                f"The keyring that holds {names} is not there: start where it is, or set the keys again with "
                "`counterpoint keys set`. The extra is installed with: pip install 'counterpoint-mcp[keyring]'"
            )
        title = f"the keyring ({backend.name})"
        with explain_failure(title[0].upper() + title[1:]):
            values = {name: backend.get_password(SERVICE, name) or "" for name in variables}
        if lost_names := [name for name in variables if not values[name]]:
            hint = f"run `counterpoint keys set {lost_names[0]}` again, or `counterpoint keys remove {lost_names[0]}`"
            logger.warning("%s no longer holds %s: %s.", title, ", ".join(lost_names), hint)
        return title, {name: value for name, value in values.items() if value}

    try:
        return start_thread(read_all, "keyring").result(WAIT_SECONDS)
    except TimeoutError:
        problem = f"The keyring did not answer within {WAIT_SECONDS:.0f} s; it may wait to be unlocked"
        raise KeyStoreError(f"{problem}. Unlock it, and start again. {USE_FILE}") from None


@contextmanager
def explain_failure(title: str) -> Iterator[None]:
    """Turn any error into a KeyStoreError. Its text is not repeated: it may hold a key."""
    try:
        yield
    except KeyStoreError:
        raise
    except Exception as error:  # noqa: BLE001  (backends raise what their libraries raise)
        is_locked = type(error).__name__ in ("KeyringLocked", "InitError")
        problem = "is locked" if is_locked else f"failed ({type(error).__name__})"
        raise KeyStoreError(f"{title} {problem}. Unlock it, and try again. {USE_FILE}") from None
