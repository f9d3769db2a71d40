"""What a run costs before it is paid for."""
