"""Text to train on: the documentation on this machine, a folder of yours, or public shards."""
