"""The schema of a database as a list of migrations. A released migration is never changed.

Releases of several ages may use one database. Whoever opens it applies the migrations that only add (expand); one that
takes something away (contract) is applied by `counterpoint db upgrade`, and names the oldest release of the schema that
may run then. A new database gets all of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from storage.contract.errors import StorageError


@dataclass(frozen=True, slots=True)
class Migration:
    """`release`: of the schema, counted up by each migration. `oldest_release`: that may run when it is applied."""

    release: int
    name: str
    statements: tuple[str, ...]
    oldest_release: int = 1


def find_missing(
    applied: Mapping[int, int], migrations: Sequence[Migration], name: str, *, every: bool = False
) -> list[Migration]:
    """The migrations to apply to the database of this name. Without `every` only those that stop no older release.

    `applied`: {release: oldest release that may run}. Migrations of newer releases may be among them.

    Raises:
        StorageError: this release may not run.
    """
    oldest = require_release(applied, migrations[-1].release, name)
    missing = [one for one in migrations if one.release not in applied]
    return [one for one in missing if every or not applied or one.oldest_release <= oldest]


def require_release(applied: Mapping[int, int], own: int, name: str) -> int:
    """The oldest release of the schema that may use the database of this name. Raises StorageError if `own` may not."""
    oldest = max(applied.values(), default=1)
    if own < oldest:
        raise StorageError(
            f"the database {name} was changed by a newer release: its schema {oldest} is the oldest that may run, "
            f"this is {own}: update counterpoint-mcp"
        )
    return oldest
