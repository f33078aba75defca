"""Where debates are kept. Knows nothing of them."""
