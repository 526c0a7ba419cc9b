"""NVIDIA's Multi-Process Service (MPS), which lets processes use a GPU at the same time: https://docs.nvidia.com/deploy/mps/"""
