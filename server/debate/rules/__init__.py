"""What happens next: the course of a debate, slots, calls, quorums, budgets, the verdict."""
