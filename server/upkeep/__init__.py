"""Upkeep of the database: backups, checks, and deletion of debates."""
