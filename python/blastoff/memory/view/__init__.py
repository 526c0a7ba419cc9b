"""A time line as a table or as a page."""
