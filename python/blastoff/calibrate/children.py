"""Measurements in processes of their own: drivers may hang or crash, and a BLAS reads its number of threads when it is loaded."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from blastoff import glibc, library
from blastoff.errors import CommandError

CODE = """import signal, sys
signal.getsignal(signal.SIGINT) == signal.default_int_handler and signal.signal(signal.SIGINT, signal.SIG_DFL)
sys.path.insert(0, sys.argv[1])
from blastoff.calibrate.{module} import main
main(sys.argv[2:])"""

THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS")
SLACK = 60
"""Seconds that a measurement may run beyond its time limit, because its last operation may be slow."""


def environment(**changes: str) -> dict[str, str]:
    """The environment of a measurement: large blocks lie on huge pages, as under `blastoff run`, and nothing is intercepted."""
    result = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "BLASTOFF_MODEL", "BLASTOFF_REPORT")}
    glibc.ask_for_huge_pages(result)
    return result | {"BLASTOFF_INTERCEPT": "preload"} | changes


def ask(module: str, *arguments: str, seconds: float, **changes: str) -> dict[str, Any]:
    """Runs the module's main() in a process, and returns the JSON that it prints."""
    # Isolated (-I): files in the current directory must not be imported as Python's own modules.
    command = [sys.executable, "-I", "-X", "utf8", "-c", CODE.format(module=module), str(library.PACKAGE.parent), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8", env=environment(**changes)) as process:
        try:
            text, _ = process.communicate(timeout=seconds + SLACK)
        except subprocess.TimeoutExpired as error:
            process.kill()
            raise CommandError(f"calibrate: the measurement took longer than {seconds + SLACK:.0f} s") from error
    if process.returncode != 0 or not text.strip():
        raise CommandError(f"calibrate: the measurement ended with status {process.returncode}", 1)
    return json.loads(text)


def show(result: dict[str, Any]) -> None:
    """Prints the result as JSON, for ask()."""
    print(json.dumps(result), flush=True)


def measure_device(blas: str, seconds: float, quick: bool) -> dict[str, Any]:
    """The device's part of a model, from `blastoff_calibration_json` (src/calibration/calibration.h). Without `quick` the device is opened
    twice, and the shorter time counts, because the first opening may read the libraries from a disk. Closing it takes from what the child prints
    last until its end is known here."""
    path = library.find_library()
    # Preloaded, as under `blastoff run`: only then does the library notice dlopen, and page-lock results.
    changes = dict.fromkeys(THREADS, "1") | {"LD_PRELOAD": str(path)}
    opened: list[float] = []
    closed: list[float] = []
    result: dict[str, Any] = {}
    for limit, trial in [(seconds, True)] if quick else [(0.0, True), (seconds, False)]:
        result = ask("device", str(path), blas, str(limit), str(int(trial)), seconds=limit, **changes)
        if "error" in result:
            raise CommandError(f"calibrate: {result['error']}", 1)
        closed.append(time.time() - result.pop("ended"))
        opened.append(result["open_seconds"])
    return result | {"open_seconds": min(opened), "close_seconds": min(closed)}


def measure_cpu(blas: Path, threads: int, seconds: float, quick: bool) -> dict[str, Any]:
    """Rates of a BLAS on that many threads: {"description", "rates": rows without "threads"}."""
    result = ask("cpu", str(blas), str(seconds), str(int(quick)), seconds=seconds, **{name: str(threads) for name in THREADS})
    if "error" in result:
        raise CommandError(f"calibrate: {result['error']}")
    return result
