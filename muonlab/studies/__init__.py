"""Which runs the course makes, and what they say."""
