"""The schema of a database as a list of migrations. A released migration is never changed.

Releases of several ages may use one database. Whoever opens it applies the migrations that only add (expand); one that
takes something away (contract) is applied by `counterpoint db upgrade`, and names the oldest release of the schema that
may run then. A new database gets all of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from storage.database import Session
from storage.errors import StorageError

SELECT_APPLIED = "select release, oldest_release from migration order by release"

ADD_APPLIED = "insert into migration (release, name, oldest_release) values ($1, $2, $3)"


@dataclass(frozen=True, slots=True)
class Migration:
    """`release`: of the schema, counted up by each migration. `oldest_release`: that may run when it is applied."""

    release: int
    name: str
    statements: tuple[str, ...]
    oldest_release: int = 1


def find_missing(
    releases: Mapping[int, int], migrations: Sequence[Migration], name: str, *, every: bool = False
) -> list[Migration]:
    """The migrations to apply to the database of this name. Without `every` only those that stop no older release.

    `releases`: {release that was applied: oldest release that may run}. Newer ones than this may be among them.

    Raises:
        StorageError: this release may not run.
    """
    oldest = require_release(releases, migrations[-1].release, name)
    missing = [migration for migration in migrations if migration.release not in releases]
    return [migration for migration in missing if every or not releases or migration.oldest_release <= oldest]


async def apply_missing(
    session: Session, migrations: Sequence[Migration], name: str, *, every: bool
) -> list[str]:
    """Apply what `find_missing` finds, in a transaction. Returns the names of the migrations."""
    releases = dict(map(tuple, await session.fetch(SELECT_APPLIED)))
    missing = find_missing(releases, migrations, name, every=every)
    for migration in missing:
        for statement in migration.statements:
            await session.fetch(statement)
        await session.fetch(ADD_APPLIED, migration.release, migration.name, migration.oldest_release)
    return [migration.name for migration in missing]


def require_release(releases: Mapping[int, int], own: int, name: str) -> int:
    """The oldest release of the schema that may use the database of this name. Raises StorageError if `own` may not."""
    oldest = max(releases.values(), default=1)
    if own < oldest:
        raise StorageError(
            f"the database {name} was changed by a newer release: its schema {oldest} is the oldest that may run, "
            f"this is {own}: update counterpoint-mcp"
        )
    return oldest
