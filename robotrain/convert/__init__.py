"""Foreign data into episodes. Knows the writer, not what episodes are used for."""
