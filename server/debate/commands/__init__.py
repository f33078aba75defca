"""What callers request: opening a debate, interventions, submitted turns, forks, imports."""
