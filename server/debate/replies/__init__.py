"""What the replies of models mean: replies become events."""
