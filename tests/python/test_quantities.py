"""The library's summary and the command's tables write sizes, times and rates in the same way."""

import random
import subprocess

import offload
import pytest
from blastoff import quantities

PRINTER = offload.BUILD / "tests" / "print_quantities"
FUNCTIONS = {"bytes": quantities.size, "duration": quantities.duration, "seconds": quantities.seconds, "number": quantities.number}

EDGES = [mantissa * 10.0**exponent for exponent in range(-9, 9) for mantissa in (0.9994, 0.99951, 0.9996, 1, 1.005001, 5, 9.9949, 9.9951)]


def by_library(kind: str, values: list) -> list[str]:
    """The library's text for each value."""
    lines = "".join(f"{kind} {value!r}\n" for value in values)
    return subprocess.run([PRINTER], input=lines, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()


def values_of(kind: str) -> list:
    """Zero, values at which the number of digits or the unit changes, and values of every magnitude."""
    draw = random.Random(7)
    if kind == "bytes":
        edges = {round(10**exponent * factor) for exponent in range(0, 19) for factor in (0.9994, 0.9996, 1, 9.994, 9.996)}
        return [0, *sorted(edges), *(round(10 ** draw.uniform(0, 19)) for _ in range(2000))]
    return [0.0, *EDGES, *(10 ** draw.uniform(-9, 9) for _ in range(2000))]


@pytest.mark.skipif(not PRINTER.exists(), reason="the unit tests are not built")
@pytest.mark.parametrize("kind", FUNCTIONS)
def test_the_command_prints_quantities_as_the_library_does(kind):
    values = values_of(kind)
    printed = by_library(kind, values)
    assert len(printed) == len(values)
    differing = {value: (mine, FUNCTIONS[kind](value)) for value, mine in zip(values, printed, strict=True) if mine != FUNCTIONS[kind](value)}
    assert differing == {}
