"""The live view of a debate: a board of what is being written, the record above it, and the keys that steer."""
