"""The ranking as text."""
