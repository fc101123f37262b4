"""Routes of the HTTP service, a file for each kind of thing."""
