"""Storage contracts (journal, outbox), SQLite and PostgreSQL. Imports nothing of the server."""
