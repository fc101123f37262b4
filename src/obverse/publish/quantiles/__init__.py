"""quantiles."""
