"""The only layer with effects: the two doors to data, and the session around them."""
