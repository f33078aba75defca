"""Which database a setting means: the path of an SQLite file, or the address of a PostgreSQL server. Pure."""

from urllib.parse import urlsplit

PREFIXES = ("postgresql://", "postgres://")


def is_address(database: str) -> bool:
    return database.startswith(PREFIXES)


def find_name(database: str) -> str:
    """What may be shown: an address without its password and its parameters, which may hold one."""
    if not is_address(database):
        return database
    try:
        parts = urlsplit(database)
        user, host = parts.username, parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return f"{database.partition('://')[0]}://…"
    at = f"{user}@" if user else ""
    return f"{parts.scheme}://{at}{host}{port}{parts.path}"
