"""Many processes: whole weights, sharded weights, and what they send."""
