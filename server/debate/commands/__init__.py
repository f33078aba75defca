"""What callers request: new debates, interventions, submitted turns, forks, imports."""
