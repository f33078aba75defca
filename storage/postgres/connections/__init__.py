"""Connections to a PostgreSQL server: statements, and what goes wrong with them."""
