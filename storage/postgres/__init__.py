"""The journal and the outbox in a PostgreSQL database, for any number of processes on any number of machines."""

from storage.postgres.journal import PostgresJournal, upgrade

__all__ = ["PostgresJournal", "upgrade"]
