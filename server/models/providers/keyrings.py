"""The keyring of the system, if it has one and the extra `keyring` is installed."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from server.debate.facts.errors import DebateError

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE = "counterpoint"  # the name under which the keyring holds our keys
WAIT_SECONDS = 5.0  # for a keyring that may be asking a person to unlock it
USE_FILE = (
    "To do without it, set the keys with PYTHON_KEYRING_BACKEND=keyring.backends.fail.Keyring in the environment, and "
    "a file is used."
)

T = TypeVar("T")
logger = logging.getLogger(__name__)


class KeyStoreError(DebateError):
    """Stored keys cannot be read or written. The text says what to do, and never holds a key."""


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


def write(backend: "KeyringBackend", variable: str, value: str) -> None:
    """Raises KeyStoreError, also if the value is not there afterwards."""
    with explain_failure(f"The keyring ({backend.name})"):
        backend.set_password(SERVICE, variable, value)
        is_kept = backend.get_password(SERVICE, variable) == value
    if not is_kept:
        raise KeyStoreError(f"The keyring ({backend.name}) did not keep the key. {USE_FILE}")


def delete(backend: "KeyringBackend", variable: str) -> None:
    """Raises KeyStoreError, not for a key that is gone already."""
    from keyring.errors import PasswordDeleteError  # noqa: PLC0415

    with explain_failure(f"The keyring ({backend.name})"):
        try:
            backend.delete_password(SERVICE, variable)
        except PasswordDeleteError:
            if backend.get_password(SERVICE, variable) is not None:
                raise


def read(variables: list[str]) -> tuple[str, dict[str, str]]:
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

    return call_with_limit(read_all)


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


def call_with_limit(function: Callable[[], T]) -> T:
    """Call the function in a thread. Raises KeyStoreError after `WAIT_SECONDS`; the thread is then left to itself."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(function())
        except BaseException as error:  # noqa: BLE001  (raised again below)
            errors.append(error)

    thread = Thread(target=run, name="keyring", daemon=True)
    thread.start()
    thread.join(WAIT_SECONDS)
    if errors:
        raise errors[0]
    if not results:
        problem = f"The keyring did not answer within {WAIT_SECONDS:.0f} s; it may wait to be unlocked"
        raise KeyStoreError(f"{problem}. Unlock it, and start again. {USE_FILE}")
    return results[0]
