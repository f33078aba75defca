"""What happens next: slots, calls, quorums, budgets, transitions."""
