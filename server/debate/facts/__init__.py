"""The facts of a debate: its events, and what they consist of."""
