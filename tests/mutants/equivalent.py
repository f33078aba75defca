"""Mutants that no test can kill, because the program does the same, each with the reason."""

EQUIVALENT: dict[tuple[str, str, str], str] = {}
"""By file, old line and new line, as they are printed."""
