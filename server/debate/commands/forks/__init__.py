"""Forks: what they inherit, what they change, and whether a round can follow."""
