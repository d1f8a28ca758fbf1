"""Train imitation policies on egocentric human and bimanual robot data, and trust the result."""
