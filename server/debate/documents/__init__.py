"""Documents: what debaters quote from them, whether they contain it, and where."""
