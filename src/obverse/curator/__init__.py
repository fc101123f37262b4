"""curator."""
