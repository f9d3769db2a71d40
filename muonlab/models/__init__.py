"""Models whose matrices carry the paper's names."""
