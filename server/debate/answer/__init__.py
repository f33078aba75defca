"""The answer format: models answer apart, check each other's answers, and one answer comes out."""
