"""How fast Muon is on this machine."""
