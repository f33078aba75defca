"""Upkeep of the database: backups."""
