"""How a function becomes a tool: schemas, checked arguments, errors, results."""
