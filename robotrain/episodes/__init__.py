"""Episodes on disk: read, written, identified, checked. Knows the format, not what a policy does with it."""
