"""Functions with the name of a routine: their arguments and the width of their numbers decide whether they are that routine."""

import shutil
import subprocess

import linking
import offload
import pytest
from linking import NOWHERE, Reach

pytestmark = pytest.mark.skipif(linking.machine() != "x86_64", reason="code is read on x86-64")

ONCE = Reach(patch=1, auto=1, preload=1)
PATCHED_ONCE = Reach(patch=1, auto=1, preload=0)

fortran = pytest.mark.skipif(not shutil.which(linking.FORTRAN_COMPILER[0]), reason="no Fortran compiler (gfortran)")


@fortran
@pytest.mark.parametrize("optimised", ["-O0", "-O1", "-O2"])
@pytest.mark.parametrize("flags", [[], ["-fdefault-integer-8"]], ids=["32 bits", "64 bits"])
def test_integers_of_a_programs_own_lapack(workshop, flags, optimised):
    program = workshop.program("program", "evidence/own_lu.f90", flags=[*flags, optimised, "-fno-inline"])
    linking.check([program], PATCHED_ONCE)


@fortran
@pytest.mark.parametrize("optimised", ["-O0", "-O1", "-O2"])
def test_real_numbers_of_a_programs_own_blas(workshop, optimised):
    """If real numbers are wider than the name says, the function is not the BLAS routine."""
    flags = [optimised, "-fno-inline"]
    linking.check([workshop.program("usual", "evidence/own_single_product.f90", flags=flags)], PATCHED_ONCE)
    promoted = workshop.program("promoted", "evidence/own_single_product.f90", flags=[*flags, "-fdefault-real-8"])
    outcomes = linking.check([promoted], NOWHERE)
    assert not outcomes["auto"].report


def test_arguments_that_vector_registers_copy(workshop):
    linking.check([workshop.program("program", "evidence/packed_arguments.c", "common/blas.c", flags=["-DGEMM=product"])], linking.PATCHED_ONLY)


FOREIGN = ["evidence/foreign_user.c", "evidence/foreign.c"]


@pytest.mark.parametrize("flags", [["-O0"], ["-O1"], ["-O2"], ["-O1", "-rdynamic"], ["-O1", "-fno-pie", "-no-pie"]], ids=" ".join)
def test_functions_of_other_arguments(workshop, flags):
    linking.check([workshop.program("program", *FOREIGN, flags=[*flags, "-fno-inline"])], NOWHERE)


def test_functions_of_other_arguments_in_a_library(workshop):
    """Their arguments and results pass unchanged, also under exported names."""
    library = workshop.shared_object("own", "evidence/foreign.c", flags=["-fno-inline"])
    linking.check([workshop.program("program", "evidence/foreign_user.c", library, flags=["-rdynamic"])], NOWHERE)


MORE = ["evidence/more_arguments_user.c", "evidence/more_arguments.c"]


@pytest.mark.parametrize("flags", [["-O0"], ["-O2"], ["-O1", "-rdynamic"], ["-O0", "-DLENGTHY"]], ids=" ".join)
def test_functions_of_more_arguments(workshop, flags):
    """They take a routine's arguments and others beside them, or have few arguments that tell little."""
    linking.check([workshop.program("program", *MORE, flags=[*flags, "-fno-inline"])], NOWHERE)


def test_functions_of_more_arguments_in_a_library(workshop):
    """The library calls them by their exported names, and so does the program."""
    library = workshop.shared_object("own", "evidence/more_arguments.c", flags=["-fno-inline"])
    program = workshop.program("program", "evidence/more_arguments_user.c", library, workshop.blas(), flags=["-rdynamic", "-Wl,--no-as-needed"])
    outcomes = linking.check([program], NOWHERE)
    assert not outcomes["auto"].report
    inspected = subprocess.run([offload.COMMAND, "inspect", library], capture_output=True, text=True, check=False).stdout
    assert "No BLAS was found" in inspected


@pytest.mark.parametrize("optimised", ["-O0", "-O2"])
def test_names_of_vectors_beside_xerbla(workshop, optimised):
    """With so few arguments, the name and xerbla_ show nothing where the code does not."""
    library = workshop.shared_object("own", "evidence/own_copy.c", flags=[optimised])
    inspected = subprocess.run([offload.COMMAND, "inspect", library], capture_output=True, text=True, check=False).stdout
    assert "No BLAS was found" in inspected


def test_functions_of_other_arguments_beside_blas(workshop):
    """The library's product is intercepted, and the report names the function that was left alone."""
    program = workshop.program("program", "evidence/foreign_beside.c", workshop.blas())
    outcomes = linking.check([program], linking.EVERYWHERE)
    assert linking.left_alone(outcomes["auto"])["dgels_"] == "takes other arguments than the routine of that name"


def test_functions_of_other_arguments_beside_a_static_blas(workshop):
    archive = offload.LIBRARIES / "openblas-serial" / "libopenblas.a"
    if not archive.exists():
        pytest.skip(f"{archive} is not installed (libopenblas-serial-dev)")
    program = workshop.program("program", "evidence/foreign_beside.c", flags=[str(archive), "-lgfortran", "-lpthread"])
    outcomes = linking.check([program], linking.PATCHED_ONLY)
    assert linking.left_alone(outcomes["auto"])["dgels_"] == "takes other arguments than the routine of that name"


def library(workshop, *flags, name="libblas.so"):
    path = workshop.shared_object(name.removeprefix("lib").removesuffix(".so"), "evidence/asked.c", flags=[*flags])
    return path, workshop.program("program", "evidence/asking.c", path)


MARKED = "-DMARK=openblas_get_config"


@pytest.mark.parametrize("name", ["libopenblas.so", "libopenblas64.so", "lib_ILP64/libblis.so"])
@pytest.mark.parametrize(("integer", "width"), [("int", "narrow"), ("long", "wide")])
def test_integers_of_a_library_whatever_its_name(workshop, integer, width, name):
    folder, _, file = name.rpartition("/")
    path = workshop.shared_object(f"{folder}/{file[3:-3]}" if folder else file[3:-3], "evidence/asked.c", flags=[MARKED, f"-DINTEGER={integer}"])
    linking.check([workshop.program("program", "evidence/asking.c", path), width], ONCE)


def test_unknown_library_is_left_alone_unless_it_is_trusted(workshop):
    path, program = library(workshop, "-DMARK=nobody", name="libown.so")
    outcomes = linking.check([program, "narrow"], NOWHERE)
    assert not outcomes["auto"].report
    for trusted in ("dgemm_,other", "libown.so", str(path)):
        linking.check([program, "narrow"], ONCE, env=linking.environment(BLASTOFF_TRUST=trusted))


def test_integers_that_change(workshop):
    """The width of integers changes at run time, as in MKL, whatever the environment says."""
    path = workshop.shared_object("mkl_rt", "evidence/asked.c", flags=["-DMARK=MKL_Get_Version_String", "-DLAYERED"])
    program = workshop.program("program", "evidence/asking.c", path)
    for layer in ("LP64", "ILP64", "ilp64"):
        linking.check([program, "both"], Reach(patch=0, auto=2, preload=2), env=linking.environment(MKL_INTERFACE_LAYER=layer))
