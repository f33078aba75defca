"""What a database of streams does, whichever it is. Imports nothing of ours."""

LOCAL_OWNER = "local"
"""Whose streams are that were begun without a name: of whoever uses this machine."""
