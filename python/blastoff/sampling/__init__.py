"""Samples the memory of a run while it goes on, and draws conclusions from the samples."""
