"""Collect: the local model. Devices randomize before they send, and nobody is trusted with an answer."""
