"""Configurations of MCP clients: where they lie, what they look like, and how an entry is added or removed."""
