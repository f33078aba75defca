"""Connections to one SQLite file, and whether it is still the one that was opened."""
