"""Run configurations, keep their records, find them again."""
