"""`blastoff doctor`: what works on this machine."""
