"""Sampling the memory of a run while it goes on, and what the samples tell."""
