"""A debate as data and as text, for tools, resources and the terminal."""
