"""A time line in words."""
