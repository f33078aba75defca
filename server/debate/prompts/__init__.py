"""The prompts of model calls."""
