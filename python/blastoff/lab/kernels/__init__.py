"""The laboratory's kernels: CUDA sources, and what each computes in NumPy."""
