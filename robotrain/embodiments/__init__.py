"""Bodies and the meaning of their numbers. Know names, layouts and cameras; read no file, draw nothing."""
