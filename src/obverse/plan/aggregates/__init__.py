"""aggregates."""
