"""The debate itself: pure and synchronous. No clock, no randomness, no input or output."""
