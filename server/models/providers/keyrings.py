"""The keyring of the system, where the extra `keyring` is installed and there is one."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from server.debate.facts.errors import DebateError

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE = "counterpoint"  # under which the keyring holds our keys
WAIT_SECONDS = 5.0  # of a start, for a keyring that may be asking a person to unlock it
WITHOUT_KEYRING = "PYTHON_KEYRING_BACKEND=keyring.backends.fail.Keyring"  # keyring's own way to have none

T = TypeVar("T")
logger = logging.getLogger(__name__)


class KeyStoreError(DebateError):
    """Stored keys cannot be read or written. The text says what to do, and never holds a key."""


def find_keyring() -> "KeyringBackend | None":
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
        raise KeyStoreError(f"The keyring ({backend.name}) did not keep the key. {use_file()}")


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

    def ask() -> tuple[str, dict[str, str]]:
        backend = find_keyring()
        if backend is None:
            names = ", ".join(variables)
            raise KeyStoreError(
                f"The keyring that holds {names} is not there: start where it is, or set the keys again with "
                "`counterpoint keys set`. The extra is installed with: pip install 'counterpoint-mcp[keyring]'"
            )
        title = f"the keyring ({backend.name})"
        with explain_failure(title[0].upper() + title[1:]):
            found = {name: backend.get_password(SERVICE, name) or "" for name in variables}
        if lost := [name for name in variables if not found[name]]:
            hint = f"run `counterpoint keys set {lost[0]}` again, or `counterpoint keys remove {lost[0]}`"
            logger.warning("%s no longer holds %s: %s.", title, ", ".join(lost), hint)
        return title, {name: value for name, value in found.items() if value}

    return call_with_limit(ask)


@contextmanager
def explain_failure(title: str) -> Iterator[None]:
    """Any error as a KeyStoreError, which repeats none of its text: that may hold a key."""
    try:
        yield
    except KeyStoreError:
        raise
    except Exception as error:  # noqa: BLE001  (backends raise what their libraries raise)
        is_locked = type(error).__name__ in ("KeyringLocked", "InitError")
        problem = "is locked" if is_locked else f"failed ({type(error).__name__})"
        raise KeyStoreError(f"{title} {problem}. Unlock it, and try again. {use_file()}") from None


def use_file() -> str:
    return f"To do without it, set the keys with {WITHOUT_KEYRING} in the environment, and a file is used."


def call_with_limit(function: Callable[[], T]) -> T:
    """What the function returns or raises, or KeyStoreError after `WAIT_SECONDS`; it is then left to itself."""
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
        waited = f"The keyring did not answer within {WAIT_SECONDS:.0f} s; it may wait to be unlocked"
        raise KeyStoreError(f"{waited}. Unlock it, and start again. {use_file()}")
    return results[0]
