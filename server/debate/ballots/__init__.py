"""Private ballots: when they are asked for, what they end, and what they come to."""
