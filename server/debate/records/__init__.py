"""Records from elsewhere: whether they are within bounds, and whether each entry follows from those before it."""
