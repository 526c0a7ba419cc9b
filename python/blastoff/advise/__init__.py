"""`blastoff advise`: what stands in the way of a job, by seconds."""
