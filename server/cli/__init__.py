"""The terminal: what its commands share, and the commands in a package of their own."""
