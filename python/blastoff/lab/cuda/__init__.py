"""The laboratory on a CUDA device: the driver and NVRTC through ctypes, without a toolkit."""
