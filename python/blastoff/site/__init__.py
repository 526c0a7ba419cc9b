"""`blastoff site`: the reports of many jobs and users as one ranking."""
