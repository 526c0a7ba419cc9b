"""`blastoff run`: a program with its BLAS calls offloaded."""
