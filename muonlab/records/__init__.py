"""What was run, and what came out of it."""
