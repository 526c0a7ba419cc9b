"""`blastoff lab`: how memory behaves between the CPU and the GPU of this machine."""
