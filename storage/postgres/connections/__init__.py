"""Connections to a PostgreSQL server: statements, what goes wrong with them, and news of what others have written."""
