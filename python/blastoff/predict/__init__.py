"""`blastoff predict`: what a traced program would take on another machine."""
