"""JSON Schemas given by callers: checks of the schema, and of values against it."""
