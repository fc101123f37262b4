"""What the data owner declares in obverse.toml."""
