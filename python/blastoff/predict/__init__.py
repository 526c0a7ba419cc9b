"""`blastoff predict`: how long a traced program would take on another machine."""
