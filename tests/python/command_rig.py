"""The environment in which the command is tested."""

import os

import offload


def clean_environment() -> dict[str, str]:
    """This process's environment, without Blastoff's variables, and with the library of the build."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("BLASTOFF_", "LD_PRELOAD", "GLIBC_TUNABLES"))}
    environment["BLASTOFF_LIBRARY"] = str(offload.LIBRARY)
    environment["PYTHONPATH"] = str(offload.ROOT / "python")
    return environment
