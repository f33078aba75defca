"""How the votes of seats are read and counted, by a rule of consensus, and the verdict that they make."""
