"""Interventions: what a caller can change in a debate, an action a file, and what follows from its facts."""
