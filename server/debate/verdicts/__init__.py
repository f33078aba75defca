"""Verdicts: how each counting rule makes one, of judgments, ballots, the decision of a moderator or a report."""
