"""The processes of a run: what their reports or their counters say, and the sums."""
