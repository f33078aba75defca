"""A database of debates: a journal that records entries without reading them, and small stores beside it.

`storage.storage.Storage` has all of them. What is the same in both kinds of database is here, the rest in `sqlite` and
`postgres`. Imports nothing of the server.
"""

LOCAL_OWNER = "local"
"""Whose streams are that were begun without a name: of whoever uses this machine."""
