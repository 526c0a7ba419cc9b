"""`blastoff report`: the reports of a job."""
