"""Streams of entries in a database: what both kinds of database have in common. Imports nothing of the server."""
