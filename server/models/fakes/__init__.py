"""Models for tests and dry runs: scripted replies, injected faults."""
