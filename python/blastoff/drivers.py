"""Whether the driver of a GPU is there at all."""

import ctypes

DRIVER = "libcuda.so.1"
NO_GPU = "no GPU here (no NVIDIA driver): blastoff try -- PROGRAM says what one would gain"


def is_present() -> bool:
    """Whether NVIDIA's driver can be loaded. Opens no GPU."""
    try:
        ctypes.CDLL(DRIVER)
    except OSError:
        return False
    return True
