"""Functions that cannot be patched: they are refused by name and stay unchanged, and exported names serve the calls that they can reach."""

import subprocess
from dataclasses import dataclass, field

import linking
import pytest
from linking import EVERYWHERE, EXPORTED_ONLY, NOWHERE


@dataclass(frozen=True)
class Refusal:
    source: str
    reason: str
    flags: list[str] = field(default_factory=list)
    everywhere: bool = False
    """Whether the case exists on every architecture. The others are code for x86-64."""


REFUSALS = {
    "IFUNC": Refusal("refusals/ifunc.c", "IFUNC resolver", everywhere=True),
    "leaf": Refusal("../programs/toy_blas.c", "leaf function", ['-DTOY_NAME="leaf"', "-DTOY_GEMM=dgemm_", "-DTOY_INTEGER=int"], everywhere=True),
    "short": Refusal("refusals/short.c", "too short"),
    "branch back": Refusal("refusals/branch_back.c", "branch back into the moved instructions"),
    "jump table": Refusal("refusals/jump_table.c", "jump table"),
}


@pytest.fixture(params=REFUSALS)
def refusal(request):
    result = REFUSALS[request.param]
    if not result.everywhere and linking.machine() != "x86_64":
        pytest.skip("code for x86-64")
    return result


def test_refused(workshop, refusal):
    blas = workshop.shared_object("toy", refusal.source, flags=refusal.flags)
    outcomes = linking.check([workshop.program("program", "common/program.c", blas)], EXPORTED_ONLY)
    assert linking.refused(outcomes["auto"], blas) == {"dgemm_": refusal.reason}
    assert linking.patched(outcomes["auto"], blas) == []


def test_refused_where_no_exported_name_reaches(workshop, refusal):
    linking.check([workshop.program("program", "common/program.c", refusal.source, flags=refusal.flags)], NOWHERE)


@pytest.mark.parametrize("optimised", ["-O1", "-O2", "-Os"])
def test_a_product_that_calls_its_own_file_only(workshop, optimised):
    """Its callers may rely on registers that it does not change, and on a stack that is not aligned."""
    linking.check([workshop.program("program", "refusals/local_calls.c", flags=[optimised])], NOWHERE)


def test_patched_by_another_tool(workshop):
    """Our exported name is called, and it calls the tool's function."""
    blas = workshop.blas()
    tool = workshop.shared_object("tool", "refusals/patching_tool.c", flags=["-ldl"])
    program = workshop.program("program", "common/program.c", blas)
    outcomes = linking.check([program], EXPORTED_ONLY, env=linking.environment(LD_PRELOAD=str(tool)))
    assert linking.refused(outcomes["auto"], blas) == {"dgemm_": "patched already"}


def test_probed_by_the_kernel(workshop):
    """The kernel knows the breakpoint where it put it, and ends a program that meets a copy of it elsewhere."""
    blas = workshop.blas()
    symbols = subprocess.run(["nm", "-D", blas], capture_output=True, text=True, check=True).stdout
    address = next(line.split()[0] for line in symbols.splitlines() if line.endswith(" dgemm_"))
    prober = workshop.program("probed", "refusals/probed.c")
    probed = [prober, blas, address, workshop.program("program", "common/program.c", blas)]
    tried = linking.plain(probed)
    if tried.status == 77:
        pytest.skip(f"not on this kernel, or not by this user: {tried.stderr.strip()}")
    outcomes = linking.check(probed, EXPORTED_ONLY)
    assert linking.refused(outcomes["auto"], blas) == {"dgemm_": "patched already"}


@pytest.fixture
def confined(workshop):
    """Makes the command that runs a program with fewer rights over its memory."""
    launcher = workshop.program("confined", "refusals/confined.c")

    def command(how, program):
        tried = linking.plain([launcher, how, "/bin/true"])
        if tried.status == 77:
            pytest.skip(f"not on this kernel: {tried.stderr.strip()}")
        return [launcher, how, program]

    return command


@pytest.mark.parametrize("how", ["deny-write-execute", "no-writable-text"])
def test_text_that_may_never_be_writable(workshop, confined, how):
    """The code is written through a second mapping."""
    blas = workshop.blas()
    program = workshop.program("program", "common/program.c", blas)
    outcomes = linking.check(confined(how, program), EVERYWHERE)
    assert linking.patched(outcomes["patch"], blas) == ["dgemm_"]


def test_text_that_cannot_be_written(workshop, confined):
    blas = workshop.blas()
    program = workshop.program("program", "common/program.c", blas)
    outcomes = linking.check(confined("no-way-to-text", program), EXPORTED_ONLY)
    assert linking.refused(outcomes["auto"], blas) == {"dgemm_": "text not writable"}
