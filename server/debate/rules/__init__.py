"""What happens next: slots, quorums, budgets, transitions, verdicts."""
