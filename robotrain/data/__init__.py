"""From episodes to batches: transforms, statistics, windows. Knows no model."""
