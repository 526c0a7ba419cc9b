"""The process in which the library replays traces. It is a separate process because sessions, once open, stay open."""

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from blastoff import library
from blastoff.errors import CommandError

CODE = """import signal, sys
signal.getsignal(signal.SIGINT) == signal.default_int_handler and signal.signal(signal.SIGINT, signal.SIG_DFL)
sys.path.insert(0, sys.argv[1])
from blastoff.replay.child import main
main(sys.argv[2:])"""


def main(arguments: Sequence[str]) -> None:
    """`arguments`: the library's path. The request comes from standard input."""
    text = library.ask(Path(arguments[0]), "blastoff_prediction_json", ctypes.c_char_p(sys.stdin.buffer.read()))
    sys.stdout.write(text)
    sys.stdout.flush()
    os._exit(0)  # threads of the replayed sessions still wait for events


def ask(request: dict[str, Any], settings: Mapping[str, str]) -> dict[str, Any]:
    """The library's answer to the request (src/prediction/prediction.h), with these settings and no others."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BLASTOFF_") and name != "LD_PRELOAD"}
    environment |= settings | {"BLASTOFF_INTERCEPT": "preload"}
    # Isolated (-I): files in the current directory must not be imported as Python's own modules.
    command = [sys.executable, "-I", "-X", "utf8", "-c", CODE, str(library.PACKAGE.parent), str(library.find_library())]
    done = subprocess.run(command, input=json.dumps(request), capture_output=True, encoding="utf-8", env=environment)
    if done.returncode != 0 or not done.stdout:
        last = done.stderr.strip().splitlines()[-1:] or [f"it ended with status {done.returncode}"]
        raise CommandError(f"predict: the replay failed: {last[0]}", 1)
    return json.loads(done.stdout)
