"""Replays traces on machine models, for the commands that predict."""
