"""Documents: what debaters quote of them, whether it is there, and where."""
