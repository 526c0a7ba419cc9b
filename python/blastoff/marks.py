"""Marks of a program's phases, for `blastoff run --memory`."""

import ctypes
import os


def mark(name: str) -> None:
    """Marks that the program enters the phase `name`. Does nothing if no memory is sampled, or without Blastoff."""
    function = getattr(ctypes.CDLL(None), "blastoff_mark", None)  # of the preloaded library
    if function is not None:
        function(ctypes.c_char_p(os.fsencode(name)))
