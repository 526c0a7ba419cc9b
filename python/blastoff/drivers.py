"""Whether the driver of a GPU is there at all."""

import ctypes
from functools import cache

DRIVER = "libcuda.so.1"
NO_DRIVER = "no GPU here (no NVIDIA driver)"
NO_GPU = f"{NO_DRIVER}: blastoff try -- PROGRAM says what one would gain"


@cache
def is_present() -> bool:
    """Whether NVIDIA's driver can be loaded. Opens no GPU."""
    try:
        ctypes.CDLL(DRIVER)
    except OSError:
        return False
    return True
