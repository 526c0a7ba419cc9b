"""Asking the library to open the device and the page tracker."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from blastoff import launcher, library
from blastoff.errors import CommandError

PROBE = """import signal, sys
signal.getsignal(signal.SIGINT) == signal.default_int_handler and signal.signal(signal.SIGINT, signal.SIG_DFL)
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from blastoff import library
print(library.ask(Path(sys.argv[2]), 'blastoff_probe_json'))"""
PROBE_SECONDS = 120


def probe() -> dict[str, Any]:
    """What the library finds when it opens the device and the page tracker, in a separate process, since drivers may hang or crash."""
    path = library.find_library()
    library.loaded(path, "blastoff_probe_json")  # raises an error if it is another library
    # Isolated (-I): files in the current directory must not be imported as Python's own modules.
    command = [sys.executable, "-I", "-X", "utf8", "-c", PROBE, str(library.PACKAGE.parent), str(path)]
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=PROBE_SECONDS, env=environment)
    except subprocess.TimeoutExpired as error:
        raise CommandError(f"opening the device took longer than {PROBE_SECONDS} s") from error
    sys.stderr.write(done.stderr)
    if done.returncode != 0:
        raise CommandError(f"opening the device ended with status {done.returncode}")
    return {"library": str(path), "builds": builds(path), **json.loads(done.stdout)}


def builds(path: Path) -> dict[str, str]:
    """Which state of the sources each part of Blastoff comes from."""
    try:
        program = launcher.ask("--build")[0]
    except CommandError:
        program = library.UNKNOWN_BUILD
    return {"library": library.build(path), "program": program, "package": library.build_of_package()}
