"""How a request becomes the set-up of a debate: its format, phases, seats, effort, and whether they fit together."""
