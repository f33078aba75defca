"""Pieces of the prompts of model calls; `machine.render` puts them together."""
