"""LAPACK's own testers as Debian ships them, unmodified, through Blastoff: linear equations, eigenvalues, singular values.

Everything is offloaded, whatever its size. The verdicts must be those of a run without Blastoff. The tests run a selection of the testers' input,
and all of it with BLASTOFF_TEST_EVERYTHING=1. On a GPU, all of it takes 7 minutes with all testers at the same time (pytest -n 16) under an MPS
daemon. Without a daemon, only 2 of 16 testers ended within that time, since most matrices are tiny.
"""

import os
import re
from dataclasses import dataclass

import offload
import pytest

LAPACK = offload.LIBRARIES / "lapack"
EVERYTHING = os.environ.get("BLASTOFF_TEST_EVERYTHING") == "1"


@dataclass
class Input:
    """One file of input. It is shortened if all of it would take minutes."""

    file: str
    routines: tuple[str, ...]  # routines that must have been offloaded, without the letter of the type; for s and d, then for c and z

    def text(self, precision: str, everything: bool) -> str:
        lines = (LAPACK / self.file.format(precision)).read_text().splitlines()
        return "\n".join(lines if everything else self.shortened(lines)) + "\n"

    def shortened(self, lines: list[str]) -> list[str]:
        return lines


class LinearEquations(Input):
    def shortened(self, lines: list[str]) -> list[str]:
        """Keeps three orders, three right-hand sides, one block size, and the paths of offloaded routines."""
        sizes = ["3", "2 10 50", "3", "2 10 50", "1", "3", "1", "20", "1"]
        paths = [line for line in lines[17:] if line[1:3] in ("GE", "PO", "SY", "TR", "QR", "LS")]
        return [lines[0], *sizes, *lines[10:17], *paths]


class Symmetric(Input):
    def shortened(self, lines: list[str]) -> list[str]:
        """Keeps three orders, one block size, and a third of the matrix types."""
        return [lines[0], "3", "2 5 20", "1", "10", "2", "9", *lines[7:12], "SEP 7", "1 3 5 8 9 11 18", ""]


class Generalized(Input):
    def shortened(self, lines: list[str]) -> list[str]:
        """Keeps three orders, one block size, and a third of the matrix types."""
        return [lines[0], "3", "2 5 16", "1", "20", "2", "1", *lines[7:12], f"{lines[12][:3]} 7", "1 3 8 11 13 17 21", ""]


class SingularValues(Input):
    def shortened(self, lines: list[str]) -> list[str]:
        return [lines[0], "4", "10 16 30 40", "16 10 40 30", "1", "20", "2", "1", "2", *lines[9:14], "SVD 5", "3 4 6 9 16", ""]


class General(Input):
    def shortened(self, lines: list[str]) -> list[str]:
        """Keeps the driver that computes no condition numbers."""
        first = next(i for i, line in enumerate(lines) if re.match(r"[SDCZ]EV", line))
        return [*lines[first : first + 9], ""]


LINEAR = (
    "getrf", "getrs", "getri", "gesv", "potrf", "potrs", "potri", "posv", "trtri",
    "trtrs", "sytrf", "sytrs", "sysv", "geqrf", "orgqr", "ormqr", "gels", "gelsd", "gelss",
)  # fmt: skip
INPUTS = {
    "linear equations": ("xlintst", LinearEquations("{}test.in", LINEAR)),
    "symmetric": ("xeigtst", Symmetric("sep.in", ("syev", "syevd", "syevr", "syevx", "spev", "spevd", "spevx"))),
    "generalized": ("xeigtst", Generalized("{}sg.in", ("sygv", "sygvd", "sygvx", "spgv", "spgvd", "spgvx"))),
    "singular values": ("xeigtst", SingularValues("svd.in", ("gesdd", "gesvd"))),
    "general": ("xeigtst", General("{}ed.in", ("geev",))),
}
# A real and a complex type for each input; BLASTOFF_TEST_EVERY_CASE=1 asks for all. tests/program/test_lapack.py has each routine in each type.
USUAL = {"linear equations": "dc", "symmetric": "sz", "generalized": "dc", "singular values": "sz", "general": "dz"}

# Tests that compare two computations to the last digits, which differ on a GPU. general: a form that runs on the CPU (left
# eigenvectors) with one that does not, and DGEES with Schur vectors and without (5 and 11). symmetric: DSTEMR, which runs on the CPU,
# with and without eigenvectors, for a tridiagonal matrix that came from the GPU. On the CPU alone that ratio passes the limit of 50
# for orders 19, 21 and 24 (reference BLAS: 97, 82, 119).
DIGITS = {"general": {"5", "6", "7", "11"}, "symmetric": {"36"}}


def name_of(routine: str, precision: str) -> str:
    if precision in "cz" and routine not in ("sytrf", "sytrs", "sysv"):
        routine = {"sy": "he", "sp": "hp", "or": "un"}.get(routine[:2], routine[:2]) + routine[2:]
    return precision + routine


def verdicts(text: str) -> list[str]:
    """All lines except those with times."""
    return [line.strip() for line in text.splitlines() if line.strip() and "seconds" not in line]


@pytest.mark.parametrize(
    ("what", "precision"), [(what, precision) for what in INPUTS for precision in ("sdcz" if EVERYTHING or offload.EVERY_CASE else USUAL[what])]
)
def test_same_verdicts(what, precision, device, tmp_path):
    program, given = INPUTS[what]
    tester = LAPACK / f"{program}{precision}"
    if not tester.exists():
        pytest.skip(f"{tester} is missing (Debian, Ubuntu: liblapack-test)")
    text = given.text(precision, EVERYTHING)
    # Most calls are norms and products with vectors, in each type alike.
    settings = [] if EVERYTHING or precision == "d" else ["--routines=-*lange,-*lansy,-*lanhe,-*gemv"]
    env = offload.environment(LD_LIBRARY_PATH=f"{LAPACK}:{offload.REFERENCE_BLAS}")
    plain = offload.plain([tester], cwd=tmp_path, stdin=text, env=env, timeout=600)
    outcome = offload.offloaded([tester], device=device, cwd=tmp_path, stdin=text, env=env, settings=settings, timeout=600)
    assert outcome.status == plain.status == 0, outcome.stderr
    assert any("passed" in line for line in verdicts(plain.stdout))
    if device == "simulated" or what not in DIGITS:
        assert verdicts(outcome.stdout) == verdicts(plain.stdout)
        assert not re.search(r"FAIL", outcome.stdout)
    else:
        assert set(re.findall(r"test\( *(\d+)\)", outcome.stdout)) <= DIGITS[what]
    made = {routine: outcome.routine(name_of(routine, precision))["offloaded"] for routine in given.routines}
    # With a GPU, matrices of extreme range stay on the CPU, and some routines get only such matrices here.
    assert all(made.values()) if device == "simulated" else any(made.values()), (made, outcome.refused())
    norms = outcome.routine(f"{precision}lange")["offloaded"]
    assert (norms > 0) == (settings == [])
    assert outcome.report["verification"]["stale_pages"] == 0
