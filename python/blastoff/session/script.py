"""`python -m blastoff SCRIPT.py`: runs a script in this interpreter, offloaded."""

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from blastoff.errors import CommandError
from blastoff.session import switch


def main(arguments: Sequence[str]) -> int:
    """Runs the script with the rest of the arguments, as `python SCRIPT.py` would; the library prints its summary at exit."""
    script = Path(arguments[0])
    try:
        if not script.is_file():
            raise CommandError(f"{script}: no such script")
        switch.enable()
    except CommandError as error:
        print(f"blastoff: {error}", file=sys.stderr)
        return error.status
    sys.argv[:] = arguments
    sys.path[0] = str(script.resolve().parent)
    runpy.run_path(str(script), run_name="__main__")
    return 0
