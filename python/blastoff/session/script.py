"""`python -m blastoff SCRIPT.py`: runs a script in this interpreter, offloaded."""

import builtins
import io
import sys
import types
from collections.abc import Sequence
from pathlib import Path

from blastoff.errors import CommandError
from blastoff.session import switch


def run(path: str) -> None:
    """Runs a script as the module __main__. The module stays, whereas runpy would remove it before exit handlers and threads have finished."""
    with io.open_code(path) as file:
        code = compile(file.read(), path, "exec")
    module = types.ModuleType("__main__")
    vars(module).update(__file__=path, __builtins__=builtins)
    sys.modules["__main__"] = module
    exec(code, vars(module))


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
    run(arguments[0])
    return 0
