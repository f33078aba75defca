"""Reads the replies of models; `machine.interpret` makes events of what is read."""
