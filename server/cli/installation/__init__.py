"""Commands about this installation: its databases, models, keys and clients, and whether all of it works."""
