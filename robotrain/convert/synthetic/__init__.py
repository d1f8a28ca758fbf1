"""A small world whose episodes make learning and drawing checkable."""
