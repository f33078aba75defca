"""Interventions: what a caller can change in a debate. Each action has a file, which also handles its facts."""
