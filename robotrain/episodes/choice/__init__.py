"""Which episodes a run asks for and which it gets: filters, a registry, pins, splits. Refuses to open an array."""
