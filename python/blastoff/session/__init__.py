"""Blastoff in a process that already runs: Python sessions, notebooks, scripts."""
