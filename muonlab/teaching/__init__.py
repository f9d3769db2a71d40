"""What teachers use: an export for a grading system, and the grading itself."""
