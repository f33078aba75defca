"""MCP over HTTP: who is let in, how much they may ask, and an end that breaks off no answer."""
