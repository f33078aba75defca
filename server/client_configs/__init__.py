"""Configurations of MCP clients: where they are, what they look like, and how an entry is added or removed."""
