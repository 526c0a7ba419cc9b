"""Runs programs with the allocation interposer preloaded."""

from collections.abc import Sequence
from pathlib import Path

import offload

ALLOCATOR = offload.BUILD / "libblastoff-allocator.so"
PROGRAMS = offload.PROGRAMS / "allocator"

# Node 0 stands for the device's node. Every machine has it, with CPUs, so it counts as the device's only through this variable.
AT_MALLOC = {"BLASTOFF_PLACE": "at-malloc=64K", "BLASTOFF_DEVICE_NODE": "0"}
ALIGN = {"BLASTOFF_ALIGN": "4K"}


def interposed(
    command: Sequence[str | Path], settings: dict[str, str], *, before: Sequence[object] = (), after: Sequence[object] = (), **options
) -> offload.Outcome:
    """Runs a command under LD_PRELOAD, `before` and `after` other libraries; `settings` are environment variables."""
    preloaded = ":".join(str(library) for library in (*before, ALLOCATOR, *after))
    return offload.run(command, env=offload.environment(LD_PRELOAD=preloaded, **settings), **options)
