"""Building blocks that more than one policy family shares."""
