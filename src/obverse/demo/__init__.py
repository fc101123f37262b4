"""Synthetic data made by our own generators, with the manifest that tells it from real data."""
