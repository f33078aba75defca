"""The terminal: what its commands share, and its commands, in two packages."""
