"""A job in words and tables."""
