"""The optimizer: Newton-Schulz, Muon, NorMuon, and which parameter goes where."""
