"""Figures: what lessons, reports and the book draw, and the SVG that a page holds."""
