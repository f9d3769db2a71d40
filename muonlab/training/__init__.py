"""One run: a configuration in, a record out."""
