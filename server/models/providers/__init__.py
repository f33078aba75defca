"""Every provider that litellm supports."""
