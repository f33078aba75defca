"""Errors of PostgreSQL and of the way to it, as texts that a user can act on. None of them holds a password."""

from storage.errors import OutageError, StorageError


class LostError(OutageError):
    """The server cannot be reached now. `is_outcome_known`: what was asked for was not done."""

    is_outcome_known = True


class ReadOnlyError(StorageError):
    """Nothing can be written here."""


class RefusedError(StorageError):
    """The user of the database may not do this."""


class ConstraintError(StorageError):
    """A row does not fit those that are there. Nothing was written."""


LOST_STATES = ("08", "57P", "53300")
"""SQLSTATEs, or how they begin: no connection, shut down or starting, too many connections."""

REPEATABLE_STATES = ("40001", "40P01", "55P03")
"""Not serializable, deadlock, a lock that was not to be had: nothing was written."""

CONSTRAINT_STATES = "23"
REFUSED_STATE = "42501"

TEXTS = {
    "28": "does not accept this user or password: check the address, and COUNTERPOINT_DB_PASSWORD_FILE",
    "3D000": "does not exist on that server: create it first (createdb)",
    "53100": "does not fit on the disk of its server, which is full",
    REFUSED_STATE: "does not allow this to its user: run `counterpoint db upgrade` as the tables' owner, or grant it",
    "57014": "did not answer in time",
    "XX001": "is damaged, restore it from a backup",
    "XX002": "is damaged, restore it from a backup",
}
READ_ONLY_STATE = "25006"
READ_ONLY = (
    "is read-only: its debates can be read, and new ones need another database (COUNTERPOINT_DB, --db)"
)


def find_state(error: BaseException) -> str:
    return str(getattr(error, "sqlstate", None) or "")


def is_repeatable(error: BaseException) -> bool:
    return find_state(error) in REPEATABLE_STATES


def translate_error(error: Exception, name: str) -> StorageError:
    """What an error of the driver or of the network means for who uses the database of this name."""
    if state := find_state(error):
        return translate_state(state, name, describe(error))
    if isinstance(error, TimeoutError):
        return LostError(f"the database {name} did not answer in time")
    if isinstance(error, OSError):
        return LostError(f"the database {name} cannot be reached ({error.strerror or type(error).__name__})")
    return LostError(f"the connection to the database {name} was lost")


def translate_state(state: str, name: str, message: str) -> StorageError:
    """`state`: an SQLSTATE."""
    if state == READ_ONLY_STATE:
        return ReadOnlyError(f"the database {name} {READ_ONLY}")
    text = next((each for begin, each in TEXTS.items() if state.startswith(begin)), "cannot be used")
    kind: type[StorageError] = StorageError
    if state.startswith(LOST_STATES):
        kind, text = LostError, "cannot be used now"
    elif state.startswith(CONSTRAINT_STATES):
        kind = ConstraintError
    elif state == REFUSED_STATE:
        kind = RefusedError
    return kind(f"the database {name} {text} ({message})")


def describe(error: Exception) -> str:
    """The first line: those after it quote values."""
    return str(error.args[0] if error.args else error).partition("\n")[0]
