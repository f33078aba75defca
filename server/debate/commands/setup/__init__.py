"""How a request becomes the set-up of a debate: format, phases, seats, effort, and checks that they fit together."""
