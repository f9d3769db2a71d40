"""What the pages of the book show, made from lessons and records while Sphinx builds it."""
