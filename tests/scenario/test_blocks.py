"""Programs that use blocks: in C, C++ and Fortran, linked with Blastoff or with the library preloaded, with a device and without."""

import subprocess

import linking
import offload
import pytest


@pytest.fixture(scope="module")
def fortran(tmp_path_factory):
    """The module is compiled with the program, as an installed source."""
    directory = tmp_path_factory.mktemp("blocks")
    module = offload.ROOT / "include" / "blastoff_blocks.f90"
    source = offload.ROOT / "tests" / "scenario" / "programs" / "blocks.f90"
    command = [*linking.FORTRAN_COMPILER, "-std=f2018", "-Wall", "-Wextra", "-Werror", "-O1", f"-J{directory}", str(module), str(source)]
    try:
        made = subprocess.run(
            [*command, "-o", str(directory / "blocks"), f"-L{offload.BUILD / 'link'}", "-lblastoff", f"-Wl,-rpath,{offload.BUILD}"],
            capture_output=True,
            text=True,
        )
    except FileNotFoundError:
        pytest.skip("no Fortran compiler here")
    assert made.returncode == 0, made.stderr
    return directory / "blocks"


def run(program, device: str, **changes: str) -> offload.Outcome:
    return offload.run([program], env=offload.environment(None, BLASTOFF_DEVICE=device, BLASTOFF_SUMMARY="never", **changes))


def devices(outcome: offload.Outcome) -> int:
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    number, verdict = outcome.stdout.split(" devices: ")
    assert verdict.strip() == "right", outcome.stdout
    return int(number)


@pytest.mark.parametrize("name", ["blocks_c", "blocks_cpp"])
def test_a_program_with_a_device_and_without(name, device):
    program = offload.program(name)[0]
    assert devices(run(program, device)) == 1
    assert devices(run(program, "none")) == 0


def test_a_fortran_program(fortran, device):
    assert devices(run(fortran, device)) == 1
    assert devices(run(fortran, "none")) == 0


@pytest.mark.parametrize("name", ["blocks_c", "blocks_cpp"])
def test_under_the_launcher_and_where_memory_is_short(name):
    outcome = offload.offloaded(offload.program(name), settings=["--simulated-memory=256K"])
    assert devices(outcome) == 1


@pytest.mark.parametrize("name", ["blocks_c", "blocks_cpp"])
@pytest.mark.parametrize("tracker", ["none", "soft-dirty", "uffd"])
def test_whatever_the_kernel_tells_of_writes(name, tracker):
    assert devices(run(offload.program(name)[0], "simulated", BLASTOFF_TRACKER=tracker)) == 1


@pytest.mark.parametrize("name", ["blocks_c", "blocks_cpp"])
def test_on_the_fake_gpu(name, gpu):
    """Copies and kernels run late there, and host memory is page-locked."""
    outcome = offload.run(offload.program(name), env=gpu | {"BLASTOFF_DEVICE": "cuda", "BLASTOFF_SUMMARY": "never"})
    assert devices(outcome) == 1
