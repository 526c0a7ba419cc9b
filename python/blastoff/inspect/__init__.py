"""`blastoff inspect`: how a program or a process gets its BLAS."""
