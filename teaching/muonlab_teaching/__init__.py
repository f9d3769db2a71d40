"""What teachers use: hand-ins that grade themselves, copies, and what a class predicted."""
