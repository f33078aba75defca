"""The parts of a set-up: seats, phases, documents, limits, options, and what is known of models."""
