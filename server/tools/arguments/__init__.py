"""The arguments of tools: what a call means, and what it is told where it means nothing."""
