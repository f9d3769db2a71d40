"""Lessons to notebooks, notebooks to the book; no notebook and no learner calls it."""
