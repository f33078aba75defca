"""The tools: each parses its arguments, calls the manager and returns a typed result."""
