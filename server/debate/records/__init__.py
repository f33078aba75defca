"""Records that come from elsewhere: whether they are within bounds, and follow from what they say happened."""
