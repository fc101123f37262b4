"""lower_bound."""
