"""Storage contracts (journal, outbox), SQLite and PostgreSQL. Imports nothing of the server."""

LOCAL_OWNER = "local"
"""Whose streams are that were begun without a name: of whoever uses this machine."""
