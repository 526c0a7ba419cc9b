"""Switching Blastoff on and off in this process."""

import os
import threading
from typing import Any

from blastoff import environment, library, options
from blastoff.errors import CommandError
from blastoff.session import attached, settings

_lock = threading.Lock()


def enable(**given: Any) -> None:
    """Offloads the BLAS, LAPACK, FFTW and pocketfft calls of this process from now on, also those of libraries that are loaded later.

    Options are those of `blastoff run`, with underscores: enable(min_size=500, policy="copy", verify=True). The BLASTOFF_* variables count too.
    Settings are read once in a process: later calls may repeat the options, and switch on again after disable(). Under `blastoff run`
    Blastoff is on already, with the options of the run.

    Raises CommandError for an option that is unknown, wrong, or in conflict with those in force, and where the library cannot work.
    """
    with _lock:
        active = attached.attach()
        table = active.options()
        variables = settings.texts(table, given, active)
        options.check_environment([option for option in table if option.environment not in variables], os.environ)
        with environment.variables(variables):
            in_force = active.settings(True)
            wanted = active.settings(False)
            if in_force is not None and wanted is not None:
                refused = settings.conflict(table, variables, in_force, wanted)
                if refused:
                    raise CommandError(refused)
            if not active.switch_on():
                raise CommandError(why_inactive())


def why_inactive() -> str:
    """Why the loaded library must not act in this process."""
    others = attached.other_copies(library.find_library())
    if others:
        return f"enable: another copy of Blastoff is active in this process: {', '.join(others)}"
    return "enable: Blastoff does not act in processes with elevated rights"


def disable() -> None:
    """Leaves all later calls to the CPU, until enable(). Waits for calls on the device, and releases the device memory of matrices."""
    with _lock:
        active = attached.in_process()
        if active is not None:
            active.switch_off()


def is_enabled() -> bool:
    """Whether Blastoff works in this process."""
    active = attached.in_process()
    return active is not None and active.is_on
