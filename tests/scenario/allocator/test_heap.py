"""The malloc family: contents, guarantees and errors do not depend on the allocator, and placed blocks lie where they should."""

import re
import sys

import offload
import pytest
from interposer import PROGRAMS, interposed

LARGE = 200_000


def placed(outcome: offload.Outcome) -> dict[str, int]:
    """The interposer's counts in the output of the program `heap`."""
    found = re.search(r"placed (\d+) bound (\d+) left (\d+)", outcome.stderr)
    return dict(zip(("blocks", "bound", "left"), map(int, found.groups()), strict=True))


def test_threads_and_children(settings):
    outcome = interposed([PROGRAMS / "heap", 4, 1500, 20_000, 400_000], settings)
    assert (outcome.status, outcome.stdout) == (0, "4 threads, 1500 steps: right\n"), outcome.stderr
    counts = placed(outcome)
    assert (counts["blocks"] > 1000) == bool(settings)
    assert counts["bound"] == (counts["blocks"] if "BLASTOFF_PLACE" in settings else 0)


@pytest.mark.parametrize(
    "tunables", ["glibc.malloc.hugetlb=1", "glibc.malloc.mmap_threshold=4096", "glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1"]
)
def test_tunables(settings, tunables):
    outcome = interposed([PROGRAMS / "heap", 2, 500, 20_000, 400_000], settings | {"GLIBC_TUNABLES": tunables})
    assert (outcome.status, outcome.stdout) == (0, "2 threads, 500 steps: right\n"), outcome.stderr


def test_odd_arguments_and_exhausted_memory(settings):
    plain = offload.plain([PROGRAMS / "edges", LARGE])
    assert plain.status == 0 and "WRONG" not in plain.stdout
    outcome = interposed([PROGRAMS / "edges", LARGE], settings)
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, plain.stdout, "")


STATES = ["malloc", "grown", "shrunk", "calloc", "from small"]


def where(outcome: offload.Outcome) -> list[str]:
    assert (outcome.status, outcome.stderr) == (0, "")
    return outcome.stdout.splitlines()


@pytest.mark.parametrize(
    ("variables", "line"),
    [
        ({}, "aligned 16, default default"),
        ({"BLASTOFF_PLACE": "huge-pages"}, "aligned 16, default default"),
        ({"BLASTOFF_PLACE": "none"}, "aligned 16, default default"),
        ({"BLASTOFF_PLACE": "auto"}, None),
        ({"BLASTOFF_PLACE": "auto", "BLASTOFF_DEVICE_NODE": "0"}, "aligned 16, default default"),
        ({"BLASTOFF_PLACE": "at-malloc", "BLASTOFF_DEVICE_NODE": "0"}, "aligned 16, default default"),
        ({"BLASTOFF_ALIGN": "1M"}, "aligned 65536, default default"),
        ({"BLASTOFF_PLACE": "at-malloc=1M", "BLASTOFF_DEVICE_NODE": "0"}, "aligned 65536, preferred 0 preferred 0"),
    ],
)
def test_alignment_and_policy(variables, line):
    """Both hold from the first byte to the last, and also after realloc."""
    lines = where(interposed([PROGRAMS / "where", 3 << 20], variables))
    assert [entry.split(":")[0] for entry in lines] == STATES
    if line is not None:
        assert {entry.split(": ")[1] for entry in lines} == {line}


def test_a_block_that_grows_to_the_size_is_placed_then():
    variables = {"BLASTOFF_PLACE": "at-malloc=2M", "BLASTOFF_DEVICE_NODE": "0", "BLASTOFF_ALIGN": "64K"}
    lines = where(interposed([PROGRAMS / "where", 1 << 20], variables))
    assert lines[0] == "malloc: aligned 65536, default default"
    assert lines[1] == "grown: aligned 65536, preferred 0 preferred 0"


PAGES = """
import ctypes, mmap, re
block = bytearray(8 << 20)
address = ctypes.addressof(ctypes.c_char.from_buffer(block))
begin = f"{address & ~4095:x}".rjust(8, "0")
lines = open("/proc/self/numa_maps").read().splitlines()
print([line for line in lines if line.startswith(begin)])
"""


def test_the_kernel_has_the_pages_there():
    """numa_maps shows the block's policy, and all its pages on the node."""
    outcome = interposed([sys.executable, "-c", PAGES], {"BLASTOFF_PLACE": "at-malloc=1M", "BLASTOFF_DEVICE_NODE": "0"})
    assert outcome.status == 0, outcome.stderr
    assert re.search(r"prefer(?:\(many\))?:0 anon=2\d{3} .*N0=2\d{3}", outcome.stdout), outcome.stdout
