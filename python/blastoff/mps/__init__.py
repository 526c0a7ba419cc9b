"""NVIDIA's Multi-Process Service (MPS), by which processes use a GPU at the same time: https://docs.nvidia.com/deploy/mps/"""
