"""muonlab."""
