"""Storage contracts (journal, outbox) and SQLite. Imports nothing of the server."""
