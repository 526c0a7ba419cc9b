"""Quantities as people read them: three significant digits, as src/platform/quantity.cpp writes them in the library's summary."""

from collections.abc import Callable, Sequence


def _three_digits(value: float) -> str:
    """A number from 1 to 1000 with three significant digits, also where it is rounded up; larger numbers with all digits."""
    if value < 9.995:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def number(value: float) -> str:
    """A rate or a ratio; no exponent below a million."""
    return f"{value:.3g}" if value >= 1e6 else _three_digits(value)


def size(amount: float) -> str:
    """Bytes, in powers of 1000."""
    if amount < 1000:
        return f"{amount:.0f} B" if amount else "0"
    for unit in ("kB", "MB", "GB", "TB", "PB"):
        amount /= 1000
        if amount < 999.5:
            return f"{_three_digits(amount)} {unit}"
    return f"{_three_digits(amount / 1000)} EB"


def seconds(value: float) -> str:
    """Seconds for a column: four significant digits at most, never finer than 1 ms."""
    if value < 9.9995:
        return f"{value:.3f}"
    if value < 99.995:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 999.95 else f"{value:.0f}"


def rate(flops_per_second: float) -> str:
    """Operations per second with a fitting unit."""
    for unit in ("GFLOP/s", "TFLOP/s"):
        flops_per_second /= 1000
        if flops_per_second < 999.5e6:
            return f"{_three_digits(flops_per_second / 1e6)} {unit}"
    return f"{_three_digits(flops_per_second / 1e9)} PFLOP/s"


def duration(value: float) -> str:
    """A duration with a fitting unit; in hours from ten hours on."""
    if value >= 36000:
        return f"{_three_digits(value / 3600)} h"
    for unit in ("s", "ms", "us"):
        if value >= 0.9995 or value == 0:
            return f"{_three_digits(value)} {unit}"
        value *= 1000
    return f"{_three_digits(value)} ns"


def energy(joules: float) -> str:
    """Joules, in powers of 1000."""
    if not joules:
        return "0 J"
    for unit in ("J", "kJ", "MJ", "GJ"):
        if joules < 999.5:
            return f"{_three_digits(joules)} {unit}"
        joules /= 1000
    return f"{_three_digits(joules)} TJ"


def counted(value: int, one: str, many: str = "") -> str:
    """A number of things: "1 call", "2 calls"."""
    return f"{count(value)} {one if value == 1 else many or one + 's'}"


def span(values: Sequence[float], shown: Callable[[float], str]) -> str:
    """Values in words: one, or the least and the largest."""
    least, most = shown(min(values)), shown(max(values))
    return least if least == most else f"{least} to {most}"


def count(value: int) -> str:
    """A number of calls, in groups of three digits."""
    return f"{value:,}".replace(",", "\u202f") if value >= 10000 else str(value)


def short_count(value: int) -> str:
    """A number of calls where there is little room: three digits, and k, M or G for thousands, millions or billions (10^9)."""
    if value < 1000:
        return str(value)
    for unit, power in (("k", 1e3), ("M", 1e6), ("G", 1e9)):
        if value < 999.5 * power or unit == "G":
            break
    return f"{value / power:.3g}{unit}"
