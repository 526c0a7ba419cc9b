"""`blastoff calibrate`: measures this machine, for decisions and predictions."""
