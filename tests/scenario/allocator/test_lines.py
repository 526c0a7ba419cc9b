"""The interposer's messages: one line at the first allocation that it concerns, and nothing without settings."""

import os

import offload
import pytest
from interposer import ALLOCATOR, PROGRAMS, interposed
from sandbox import refusing

WHERE = [PROGRAMS / "where", 2 << 20]
AT_MALLOC = {"BLASTOFF_PLACE": "at-malloc=1M"}


def has_device_node() -> bool:
    """Whether this machine has a NUMA node with memory but no CPUs."""
    nodes = "/sys/devices/system/node/"
    return open(nodes + "has_memory").read() != open(nodes + "has_cpu").read()


@pytest.mark.skipif(has_device_node(), reason="this machine has a node of memory without CPUs")
class TestOnAnOrdinaryMachine:
    def test_at_malloc_is_off(self):
        outcome = interposed(WHERE, AT_MALLOC)
        assert outcome.lines == ["placing memory at malloc has no effect: no NUMA node has memory but no CPUs, as on a coherent machine"]
        assert "aligned 16, default" in outcome.stdout

    def test_it_still_aligns(self):
        outcome = interposed(WHERE, AT_MALLOC | {"BLASTOFF_ALIGN": "1M"})
        assert len(outcome.lines) == 1 and outcome.lines[0].endswith("; large allocations are only aligned")
        assert "aligned 65536, default" in outcome.stdout

    def test_auto_says_nothing(self):
        outcome = interposed([PROGRAMS / "where", 65 << 20], {"BLASTOFF_PLACE": "auto"})
        assert (outcome.status, outcome.lines) == (0, []) and "aligned 16, default" in outcome.stdout


def test_a_node_that_does_not_exist():
    outcome = interposed(WHERE, AT_MALLOC | {"BLASTOFF_DEVICE_NODE": "5"})
    assert outcome.lines == ["placing memory at malloc has no effect: the NUMA node that BLASTOFF_DEVICE_NODE names has no memory"]
    assert "aligned 16, default" in outcome.stdout


@pytest.mark.parametrize(
    ("variable", "value", "accepted"),
    [
        ("BLASTOFF_PLACE", "here", "auto, huge-pages, at-malloc, at-malloc=SIZE or none"),
        ("BLASTOFF_PLACE", "at-malloc=0", "auto, huge-pages, at-malloc, at-malloc=SIZE or none"),
        ("BLASTOFF_ALIGN", "page", "a size in bytes, or with suffix K, M, G or T"),
    ],
)
def test_a_bad_value_is_one_line_and_counts_as_not_set(variable, value, accepted):
    outcome = interposed(WHERE, {variable: value})
    assert outcome.lines == [f"invalid value {variable}={value}; accepted: {accepted}; ignored"]
    assert "aligned 16, default" in outcome.stdout


@pytest.mark.parametrize("variables", [AT_MALLOC, {"BLASTOFF_PLACE": "here"}, AT_MALLOC | {"BLASTOFF_DEVICE_NODE": "5"}])
def test_programs_without_large_allocations_say_nothing(variables):
    outcome = interposed(["sh", "-c", "true; echo done"], variables)
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, "done\n", "")


def test_without_standard_error():
    """Nothing is written to descriptor 2, which may be a file of the program."""
    outcome = interposed(["sh", "-c", f"exec 2>&-; exec {PROGRAMS / 'where'} {2 << 20}"], AT_MALLOC)
    assert outcome.status == 0 and outcome.stdout.startswith("malloc: ")


def test_refused_by_a_sandbox(workshop):
    """In a container whose seccomp profile forbids mbind, blocks are only aligned, and one line says so."""
    outcome = interposed([refusing(workshop, "mbind", "get_mempolicy"), *WHERE], AT_MALLOC | {"BLASTOFF_DEVICE_NODE": "0"})
    assert outcome.status == 0, outcome.stderr
    assert outcome.lines == [
        "placing memory at malloc has no effect: the kernel does not allow memory to be bound to the device's NUMA node (Operation not permitted); "
        "large allocations are only aligned"
    ]
    assert "malloc: aligned 65536" in outcome.stdout


def test_loading_costs_nothing_that_shows():
    outcome = interposed(["/bin/true"], {})
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, "", "")


def test_it_depends_on_the_c_library_alone_and_exports_its_names():
    needed = offload.run(["readelf", "-d", ALLOCATOR], env=dict(os.environ)).stdout
    assert [line.split("[")[1] for line in needed.splitlines() if "NEEDED" in line] == ["libc.so.6]", "libdl.so.2]"]
    symbols = offload.run(["nm", "-D", "--defined-only", ALLOCATOR], env=dict(os.environ)).stdout
    names = {line.split()[2].split("@")[0] for line in symbols.splitlines() if line.split()[1] != "A"}
    family = {"malloc", "free", "cfree", "calloc", "realloc", "reallocarray", "memalign", "posix_memalign", "aligned_alloc", "valloc", "pvalloc"}
    mappings = {"mmap", "mmap64", "munmap", "mremap", "madvise", "brk", "sbrk"}
    ours = {"blastoff_allocator_version", "blastoff_allocator_counts"}
    assert names == family | {"malloc_usable_size"} | mappings | ours
