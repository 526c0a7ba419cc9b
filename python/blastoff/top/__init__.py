"""`blastoff top`: the counters of a run while it is running."""
