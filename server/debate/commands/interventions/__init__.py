"""Interventions: what a caller can change in a debate, and when the change takes effect."""
