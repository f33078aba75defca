"""How the votes of seats are read and counted, by a rule of consensus or as usual."""
