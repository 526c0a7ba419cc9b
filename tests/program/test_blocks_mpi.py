"""Blocks between the ranks of real MPI libraries, and the coupled-cluster example with all of its switches."""

import itertools
import re
import shutil
import subprocess
from pathlib import Path

import mpi
import offload
import pytest

INCLUDE = offload.ROOT / "include"
LINKED = [f"-I{INCLUDE}", f"-L{offload.BUILD / 'link'}", "-lblastoff", f"-Wl,-rpath,{offload.BUILD}"]
STRICT = ["-O0", "-Wall", "-Wextra", "-Werror", "-DOMPI_SKIP_MPICXX"]
SMALL = ["--occupied=7", "--virtual=11", "--tile=4", "--check"]
SOURCES = {"blocks_mpi": mpi.SOURCES / "blocks_mpi.cpp", "ccsd": offload.ROOT / "examples" / "ccsd.cpp"}

libraries = pytest.mark.parametrize("library", mpi.ALL, ids=lambda library: library.name)


def need(library: mpi.Mpi) -> None:
    """Skips the test if the library is not installed."""
    for command in (library.compiler, library.starter[0]):
        if shutil.which(command) is None:
            pytest.skip(f"{command} is not installed (tools/install test)")


def compiled(source: str, library: mpi.Mpi, folder: Path) -> Path:
    need(library)
    path = folder / source
    compiler = library.compiler.replace("mpicc", "mpicxx")
    subprocess.run([compiler, "-std=c++17", *STRICT, str(SOURCES[source]), "-o", str(path), *LINKED], check=True)
    return path


def ran(command: list, library: mpi.Mpi, ranks: int, folder: Path, device: str, settings: dict[str, str] | None = None) -> str:
    changes = {"BLASTOFF_DEVICE": device, "BLASTOFF_SUMMARY": "never", **(settings or {})}
    done = mpi.run([*library.ranks(ranks), *command], library.environment(folder) | changes)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def fake_gpu() -> dict[str, str]:
    """Variables that make "cuda" the fake GPU, which works asynchronously in its own threads; empty if it is not built."""
    built = (offload.FAKE_GPU / "libcuda.so.1").exists()
    return dict.fromkeys(("BLASTOFF_CUDA_PATH", "LD_LIBRARY_PATH"), str(offload.FAKE_GPU)) if built else {}


@libraries
def test_messages_broadcasts_and_windows(library, tmp_path, device):
    program = compiled("blocks_mpi", library, tmp_path)
    runs = [(2, -1, "every", device, {}), (4, 0, "few", device, {}), (3, 1, "few", "simulated", {}), (2, 1, "few", "none", {})]
    if device == "simulated" and (fake := fake_gpu()):
        runs += [(2, 0, "few", "cuda", fake), (2, 1, "few", "cuda", fake)]
    for ranks, direct, which, place, settings in runs:
        output = ran([program, direct, which], library, ranks, tmp_path, place, settings)
        ends = [line for line in output.splitlines() if line.startswith("ok: ")]
        assert len(ends) == ranks, output
        for line in ends:
            found = re.search(r"(\d+) transfers, direct (\d), devices (\d), (\d+) in a context", line).groups()
            transfers, messages, devices, in_context = map(int, found)
            assert transfers > 20
            assert (in_context > 20) == (place == "cuda" and direct == 1)
            assert devices == (place != "none")
            assert direct == -1 or messages == direct


def rows(output: str) -> dict[str, list[str]]:
    """The rows of the example's table: the feature that was switched off, and the figures. Checks that each result was right."""
    found = {}
    lines = output.splitlines()
    for line, check in itertools.pairwise(lines):
        if row := re.match(r"(all features|without \w+) +(.*)", line):
            found[row[1]] = row[2].split()
            assert float(re.fullmatch(r"greatest difference from plain loops: (\S+)", check)[1]) < 1e-12
    return found


EVERY = ["all features", *(f"without {feature}" for feature in ("intents", "pinning", "pool", "asynchronous", "streams", "direct"))]


@libraries
def test_the_example_with_every_switch(library, tmp_path, device):
    program = compiled("ccsd", library, tmp_path)
    table = rows(ran([program, *SMALL, "--compare"], library, 2, tmp_path, device))
    assert list(table) == EVERY
    assert len({figures[-1] for figures in table.values()}) == 1, "the norm depends on a switch"
    hits = {name: float(figures[7]) for name, figures in table.items()}
    assert hits["all features"] > 50 and hits["without pool"] == 0
    if device == "simulated":
        copied = {name: float(figures[5]) + float(figures[6]) for name, figures in table.items()}
        assert copied["without intents"] > copied["all features"] > 0
    alone = rows(ran([program, *SMALL], library, 4, tmp_path, "none"))
    assert alone["all features"][-1] == table["all features"][-1]


def test_the_example_on_one_rank_without_mpi(tmp_path, device):
    program = tmp_path / "ccsd"
    subprocess.run(["g++", "-DWITHOUT_MPI", "-std=c++17", *STRICT, str(SOURCES["ccsd"]), "-o", str(program), *LINKED], check=True)
    for place in (device, "none"):
        environment = offload.environment(None, BLASTOFF_DEVICE=place, BLASTOFF_SUMMARY="never")
        for switches in ([], ["--without=intents"]):
            outcome = offload.run([program, *SMALL, *switches], env=environment)
            assert outcome.status == 0, outcome.stdout + outcome.stderr
            assert len(rows(outcome.stdout)) == 1
        refused = offload.run([program, "--without=sense"], env=environment)
        assert refused.status == 2
        assert "accepted are" in refused.stderr


def test_the_energy_of_a_molecule_is_that_of_pyscf(tmp_path, device):
    """PySCF 2.14 wrote the integrals (water, STO-3G), and found these energies."""
    program, broken = tmp_path / "ccsd_energy", tmp_path / "broken"
    subprocess.run(["g++", "-std=c++17", *STRICT, str(offload.ROOT / "examples" / "ccsd_energy.cpp"), "-o", str(program), *LINKED], check=True)
    for place in (device, "none"):
        environment = offload.environment(None, BLASTOFF_DEVICE=place, BLASTOFF_SUMMARY="never")
        outcome = offload.run([program, offload.ROOT / "tests/program/programs/water.fcidump"], env=environment)
        assert outcome.status == 0, outcome.stderr
        found = dict(re.findall(r"^(\S.*\S) +(-[0-9.]+)$", outcome.stdout, re.MULTILINE))
        expected = {"Hartree-Fock": -74.9630631297, "MP2 correlation": -0.0355668363, "CCSD correlation": -0.0494674957}
        assert {name: float(found[name]) for name in expected} == pytest.approx(expected, abs=1e-9)
    for text, why in [("", "no NORB"), (" &FCI NORB=7,NELEC=9, &END\n", "9 electrons"), (" &FCI NORB=2,NELEC=2, &END\n1 1 1 3 1\n", "beyond NORB")]:
        broken.write_text(text)
        refused = offload.run([program, broken], env=environment)
        assert refused.status == 1 and why in refused.stderr and len(refused.stderr.splitlines()) == 1


@libraries
def test_the_header_in_plain_c(library, tmp_path):
    need(library)
    source = tmp_path / "plain.c"
    source.write_text("#include <blastoff_blocks_mpi.h>\nint main(void) { return blastoff_mpi_direct(); }\n")
    command = [library.compiler, "-std=c99", "-Wpedantic", *STRICT, str(source), "-o", str(tmp_path / "plain"), *LINKED]
    subprocess.run(command, check=True)
    assert offload.run([tmp_path / "plain"], env=offload.environment(None, BLASTOFF_DEVICE="none")).status == 0
