"""The process that measures the device."""

import ctypes
import json
import time
from collections.abc import Sequence
from pathlib import Path

from blastoff import library
from blastoff.calibrate import children


def main(arguments: Sequence[str]) -> None:
    """`arguments`: the library, a BLAS for the simulated device, seconds, 1 for a quick trial."""
    path, blas, seconds, quick = arguments
    text = library.ask(
        Path(path),
        "blastoff_calibration_json",
        ctypes.c_char_p(blas.encode()),
        ctypes.c_double(float(seconds)),
        ctypes.c_int(int(quick)),
    )
    children.show(json.loads(text) | {"ended": time.time()})
