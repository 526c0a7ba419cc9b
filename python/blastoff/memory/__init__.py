"""`blastoff memory`: the time line of a run's memory."""
