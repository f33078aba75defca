"""The commands of the terminal, a module for each or for those that belong together."""
