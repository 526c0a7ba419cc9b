"""Which freed memory libblastoff.so is told about, and when. A listener stands for the library."""

import pytest
from interposer import PROGRAMS, interposed

MIB = 1 << 20
GLIBC = 8  # bytes that glibc adds to a block whose size is a multiple of 16

EXPECTED = {
    "heap": f"""free: unmapped 0+{MIB + GLIBC};
free of a small block:
free(NULL):
realloc: unmapped 0+{MIB + GLIBC}; unmapped target+{3 * MIB + GLIBC};
both freed: unmapped 0+{3 * MIB + GLIBC}; unmapped target+{MIB + GLIBC};
""",
    "mappings": f"""munmap: unmapped 0+{MIB};
madvise(MADV_DONTNEED): dropped 0+{MIB // 2};
madvise(MADV_HUGEPAGE):
mmap(MAP_FIXED): unmapped 4096+4096;
mmap elsewhere:
mremap, smaller: unmapped {MIB - 4096}+4096;
munmap again: unmapped 0+{MIB};
mremap to a target: unmapped target+{MIB}; moved 0+{MIB} to target;
mremap anywhere: unmapped 0+{MIB}; unmapped elsewhere+{2 * MIB};
""",
    "data-segment": """sbrk, more:
sbrk, less: unmapped 0+65536;
brk, less: unmapped 0+65536;
""",
}

PLACED_HEAP = f"""free: unmapped 0+{MIB};
free of a small block:
free(NULL):
realloc: moved 0+{MIB} to target;
both freed: unmapped 0+{3 * MIB}; unmapped target+{MIB};
"""


def listener(hears: int):
    return PROGRAMS / f"liblistener_{hears}.so"


@pytest.mark.parametrize("first", [False, True], ids=["behind", "before"])
@pytest.mark.parametrize("case", EXPECTED)
def test_all_that_goes_away_is_told_in_time(case, first):
    libraries = {"before" if first else "after": [listener(0)]}
    outcome = interposed([PROGRAMS / "gone", case], {}, **libraries)
    assert (outcome.status, outcome.stderr) == (0, "")
    assert outcome.stdout == "nothing yet:\n" + EXPECTED[case]


@pytest.mark.parametrize("case", EXPECTED)
def test_nothing_is_told_to_whom_the_kernel_tells(case):
    outcome = interposed([PROGRAMS / "gone", case], {}, before=[listener(1)])
    assert outcome.status == 0
    assert all(line.endswith(":") for line in outcome.stdout.splitlines()), outcome.stdout


def test_placed_blocks():
    outcome = interposed([PROGRAMS / "gone", "heap"], {"BLASTOFF_ALIGN": "64K"}, before=[listener(0)])
    assert (outcome.status, outcome.stderr) == (0, "")
    assert outcome.stdout == "nothing yet:\n" + PLACED_HEAP


def test_threads_and_children_while_notifying(settings):
    outcome = interposed([PROGRAMS / "heap", 4, 500, 20_000, 400_000], settings, before=[listener(0)])
    assert (outcome.status, outcome.stdout) == (0, "4 threads, 500 steps: right\n"), outcome.stderr
