"""What reuse is; src/report/summary.h says the same of one process."""

from collections.abc import Mapping


def operand_reuse(sums: Mapping[str, float]) -> float:
    """How many times devices have read a byte of a matrix, on average, for each time that it came to them: copied, moved, or read in place for
    the first time. 0 if they have read nothing. Reports of earlier versions count the moved bytes instead."""
    reused = sums["bytes_reused"]
    read = sums.get("bytes_read") or reused + sums["bytes_to_device"]
    return read / (read - reused) if read > reused else 0
