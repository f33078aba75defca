"""Debates in the database: recorded, read, leased, counted against the day, and noticed to be gone."""
