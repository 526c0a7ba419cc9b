"""Netlib's level-3 testers: Debian's programs, which load a BLAS, and the same testers linked to static archives."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import netlib_sources
from netlib import ROUTINES
from sysroot import DIRECTORY, LIBRARIES

REFERENCE = LIBRARIES / "blas"
OPENBLAS = LIBRARIES / "openblas-pthread"


@dataclass(frozen=True)
class Tester:
    name: str
    program: Path
    input: Path
    blas: Path | None  # folder of the BLAS that it loads
    routines: int
    computations: int  # number of computations of each routine
    summary: str  # the file that it writes; empty: it prints its results


def fortran(name: str, program: Path, blas: Path | None, precision: str) -> Tester:
    data = REFERENCE / f"{precision}blat3.in"
    return Tester(name, program, data, blas, ROUTINES[precision], 1, f"{precision}blat3.out")


def cblas(name: str, program: Path, blas: Path | None, precision: str) -> Tester:
    return Tester(name, program, REFERENCE / f"{precision}in3", blas, ROUTINES[precision], 2, "")


def loading() -> Iterator[Tester]:
    """Testers that load a BLAS. The CBLAS testers need symbols that only the reference BLAS has."""
    for precision in ROUTINES:
        yield fortran(f"xblat3{precision}, reference BLAS", REFERENCE / f"xblat3{precision}", REFERENCE, precision)
        yield fortran(f"xblat3{precision}, OpenBLAS", REFERENCE / f"xblat3{precision}", OPENBLAS, precision)
        yield cblas(f"x{precision}cblat3, reference BLAS", REFERENCE / f"x{precision}cblat3", REFERENCE, precision)


def link(program: Path, *parts: object) -> Path:
    command = ["aarch64-linux-gnu-gfortran", "-w", "-O1", "-DADD_", *map(str, parts), "-o", str(program)]
    if not program.exists():
        subprocess.run(command, check=True)
    return program


def static(directory: Path) -> Iterator[Tester]:
    """Testers with a static BLAS, which are made in `directory`. The C library stays shared, since nothing can be preloaded into a fully static
    program."""
    directory.mkdir(exist_ok=True)
    sources = netlib_sources.fetch(DIRECTORY / "netlib")
    testing = sources / "CBLAS" / "testing"
    for precision in ROUTINES:
        source = sources / "BLAS" / "TESTING" / f"{precision}blat3.f"
        program = link(directory / f"{precision}blat3-reference", source, REFERENCE / "libblas.a")
        yield fortran(f"{precision}blat3, static reference BLAS", program, None, precision)
        program = link(directory / f"{precision}blat3-openblas", source, OPENBLAS / "libopenblas.a", "-lpthread")
        yield fortran(f"{precision}blat3, static OpenBLAS", program, None, precision)
        parts = [f"-I{sources / 'CBLAS' / 'include'}", f"-I{testing}"]
        parts += [testing / f"c_{precision}{part}" for part in ("blat3.f", "blas3.c", "3chke.c")]
        parts += [testing / "auxiliary.c", testing / "c_xerbla.c", REFERENCE / "libblas.a"]
        yield cblas(f"{precision} CBLAS, static reference BLAS", link(directory / f"{precision}cblat3-reference", *parts), None, precision)
