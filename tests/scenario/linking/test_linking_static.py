"""Programs with a static BLAS, and programs linked in every way."""

import shutil

import linking
import offload
import pytest

# For each archive, the further libraries that it needs, and its Debian package.
ARCHIVES = {
    "blas/libblas.a": (["-lgfortran"], "libblas-dev"),
    "openblas-pthread/libopenblas.a": (["-lgfortran", "-lpthread"], "libopenblas-pthread-dev"),
    "openblas-serial/libopenblas.a": (["-lgfortran"], "libopenblas-serial-dev"),
}


@pytest.fixture(params=ARCHIVES)
def archive(request):
    path = offload.LIBRARIES / request.param
    libraries, package = ARCHIVES[request.param]
    if not path.exists():
        pytest.skip(f"{path} is not installed ({package})")
    return [str(path), *libraries]


@pytest.fixture(params=["common/program.c", "static_archive/program.f90"], ids=["C", "Fortran"])
def source(request):
    if request.param.endswith(".f90") and not shutil.which(linking.FORTRAN_COMPILER[0]):
        pytest.skip("no Fortran compiler (gfortran)")
    return request.param


def test_static_archive(workshop, archive, source):
    """Exported names cannot reach a program's own functions, and without symbols the functions cannot be found."""
    program = workshop.program("program", source, flags=archive)
    outcomes = linking.check([program], linking.PATCHED_ONLY)
    assert "dgemm_" in linking.patched(outcomes["patch"])
    linking.check([workshop.strip(program)], linking.NOWHERE)


def test_static_archive_with_exported_symbols(workshop):
    """-rdynamic leaves the names of the BLAS in a stripped program."""
    program = workshop.program("program", "common/program.c", "common/blas.c", flags=["-rdynamic"])
    linking.check([workshop.strip(program)], linking.PATCHED_ONLY)


WAYS = {
    "position-independent": ["-fPIE", "-pie"],
    "fixed address": ["-fno-pie", "-no-pie"],
    "full RELRO": ["-Wl,-z,relro,-z,now"],
    "bound at start": ["-Wl,-z,norelro,-z,now"],
    "bound lazily": ["-Wl,-z,lazy"],
    "bound lazily, without PLT": ["-fno-plt", "-Wl,-z,lazy"],
    "optimised at link time": ["-flto"],
}


@pytest.mark.parametrize("flags", WAYS.values(), ids=WAYS)
def test_program_and_shared_blas(workshop, flags):
    linking.check([workshop.program("program", "common/program.c", workshop.blas(), flags=flags)], linking.EVERYWHERE)


@pytest.mark.parametrize("flags", [["-fPIE", "-pie"], ["-fno-pie", "-no-pie"]], ids=["position-independent", "fixed address"])
def test_program_with_its_own_blas(workshop, flags):
    linking.check([workshop.program("program", "common/program.c", "common/blas.c", flags=flags)], linking.PATCHED_ONLY)
