"""The laboratory's kernels: CUDA sources, and the same computations in NumPy."""
