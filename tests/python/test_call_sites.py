"""Call sites: places of compiled programs and lines of Python, in reports and in the texts made from reports."""

import json
import shutil
import subprocess
import sys

import offload
import pytest
from blastoff.job import places, reading
from blastoff.job.call_sites import call_sites
from blastoff.job.places import Place
from command_rig import clean_environment

SIMULATED = ("--device=simulated", "--min-size=100")

FORTRAN = """program sites
  implicit none
  integer, parameter :: n = 150
  double precision :: a(n,n), b(n,n), c(n,n)
  integer :: i
  a = 1; b = 2
  do i = 1, 3
    call inner()
  end do
  call dgemm('N','N',n,n,n,1d0,a,n,b,n,0d0,c,n)
contains
  subroutine inner()
    call dgemm('N','N',n,n,n,1d0,a,n,b,n,0d0,c,n)
  end subroutine
end program
"""


def report_of(blastoff, tmp_path, *command):
    path = tmp_path / "report.json"
    done = blastoff("run", *SIMULATED, "--summary=never", f"--report={path}", "--", *command, env={"LD_LIBRARY_PATH": str(offload.REFERENCE_BLAS)})
    assert done.returncode == 0, done.stderr
    return path


@pytest.mark.skipif(not (shutil.which("gfortran") and shutil.which("addr2line")), reason="needs gfortran and addr2line")
def test_lines_of_a_fortran_program(blastoff, tmp_path):
    source = tmp_path / "sites.f90"
    source.write_text(FORTRAN)
    program = tmp_path / "sites"
    subprocess.run(["gfortran", "-g", "-O0", str(source), "-o", str(program), f"-L{offload.REFERENCE_BLAS}", "-l:libblas.so.3"], check=True)
    report = report_of(blastoff, tmp_path, str(program))
    sites = {site.name: site for site in call_sites(reading.read_job([str(report)]))}
    assert {name: site.sums.calls for name, site in sites.items()} == {"sites.f90:13 in inner": 3, "sites.f90:10 in main program": 1}
    assert all(site.routine == "dgemm" and abs(site.mean_size - 150) < 1 for site in sites.values())
    shown = blastoff("report", str(report)).stdout
    assert "sites.f90:13 in inner" in shown and "sites.f90:10 in main program" in shown


PYTHON = f"""
import sys; sys.path.insert(0, {str(offload.ROOT / "tests" / "python")!r})
import ctypes
blas = ctypes.CDLL("libblas.so.3")
n = 150
matrices = [(ctypes.c_double * (n * n))() for _ in range(3)]
size, one = ctypes.byref(ctypes.c_int(n)), ctypes.byref(ctypes.c_double(1))
def product():
    blas.dgemm_(b"N", b"N", size, size, size, one, matrices[0], size, matrices[1], size, one, matrices[2], size)
def first():
    product()
for _ in range(3): first()
product()
"""


def test_lines_of_python(blastoff, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(PYTHON)
    report = report_of(blastoff, tmp_path, sys.executable, str(script))
    (site,) = call_sites(reading.read_job([str(report)]))
    assert site.name == "script.py:9 in product"
    assert site.sums.calls == 4


def test_lines_that_take_turns_share_the_calls(blastoff, tmp_path):
    """Most calls count for the line that was looked up last. If every sixth call were looked up, one line would get all calls."""
    setting_up, _, call = PYTHON.replace("n = 150", "n = 40").partition("def first")[0].rpartition("def product():\n")
    script = tmp_path / "turns.py"
    script.write_text(f"{setting_up}for _ in range(4000):\n{call}{call}")
    path = tmp_path / "report.json"
    blastoff(
        "run",
        "--device=none",
        "--min-size=1",
        f"--report={path}",
        "--",
        sys.executable,
        str(script),
        env={"LD_LIBRARY_PATH": str(offload.REFERENCE_BLAS)},
    )
    calls = sorted(site["calls"] for site in json.loads(path.read_text())["call_sites"])
    # Each 32nd of the fast calls on the CPU is counted for all 32, so the latest calls may be missing.
    assert len(calls) == 2 and 8000 - 32 < sum(calls) <= 8000
    assert calls[0] > 1600


def test_products_with_vectors_are_counted_whether_they_are_judged_or_not(blastoff, tmp_path):
    """While no device is open, most are not judged. They are counted by their own sizes."""
    script = tmp_path / "vectors.py"
    sizes = [300 + 5 * (i % 20) for i in range(800)]
    script.write_text(
        "import ctypes, time\n"
        "blas = ctypes.CDLL('libblas.so.3')\n"
        "a, x, y = (ctypes.c_double * 160_000)(), (ctypes.c_double * 400)(), (ctypes.c_double * 400)()\n"
        "one, step = ctypes.byref(ctypes.c_double(1)), ctypes.byref(ctypes.c_int(1))\n"
        "begin = time.perf_counter()\n"
        f"for n in {sizes}:\n"
        "    n = ctypes.byref(ctypes.c_int(n))\n"
        "    blas.dgemv_(b'N', n, n, one, a, n, x, step, one, y, step)\n"
        "print(time.perf_counter() - begin)\n"
    )
    path = tmp_path / "report.json"
    options = ("--device=none", "--min-size=60", "--summary=never", f"--report={path}")
    done = blastoff("run", *options, "--", sys.executable, str(script), env={"LD_LIBRARY_PATH": str(offload.REFERENCE_BLAS)})
    found = json.loads(path.read_text())
    (routine,) = (row for row in found["routines"] if row["name"] == "dgemv")
    assert routine["calls"] == len(sizes) and routine["flops"] == sum(2 * n * n for n in sizes)
    assert [row["calls"] for row in found["refusals"]] == [len(sizes)] and "whose matrix is not on the device" in found["refusals"][0]["reason"]
    # A judged call that was interrupted counts for all that it stands for.
    assert 0.05 * float(done.stdout) < routine["cpu_seconds"] < 20 * float(done.stdout)
    (site,) = found["call_sites"]
    assert len(sizes) - 32 < site["calls"] <= len(sizes)


def test_a_killed_process_leaves_its_sites(blastoff, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(PYTHON + "import os, signal; os.kill(os.getpid(), signal.SIGKILL)\n")
    path = tmp_path / "report.json"
    blastoff("run", *SIMULATED, f"--report={path}", "--", sys.executable, str(script), env={"LD_LIBRARY_PATH": str(offload.REFERENCE_BLAS)})
    (site,) = json.loads(path.read_text())["call_sites"]
    assert site["python"].endswith("script.py:9 in product") and site["calls"] == 4


def test_descriptors_stay_as_they_were(tmp_path):
    """Looking up a line opens a pipe for a short time."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os\nbefore = os.listdir('/proc/self/fd')\n" + PYTHON + "assert len(os.listdir('/proc/self/fd')) <= len(before), 'left open'\n"
    )
    env = clean_environment() | {"LD_LIBRARY_PATH": str(offload.REFERENCE_BLAS), "LD_PRELOAD": str(offload.LIBRARY), "BLASTOFF_DEVICE": "none"}
    done = subprocess.run([sys.executable, str(script)], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_places_without_debug_information(tmp_path):
    missing = Place(str(tmp_path / "libnone.so.1"), 0x1234)
    assert places.names([missing]) == {missing: "libnone.so.1+0x1234"}
    assert places.name(Place("/lib/libx.so", 16), "??", "??:0") == "libx.so+0x10"
    assert places.name(Place("/lib/libx.so", 16), "solve_", "??:?") == "solve_ in libx.so"
    assert places.name(Place("/lib/libx.so", 16), "solve_", "/src/cg.f90:214 (discriminator 3)") == "cg.f90:214 in solve_"


def test_sites_of_processes_are_added_up(report, write):
    sums = report["totals"]
    site = {"routine": "dgemm", "object": "/opt/scf", "offset": 64, "python": "/home/me/scf.py:12 in step", "threads": 2, "mean_size": 100.0}
    one = report | {"call_sites": [site | sums | {"refusals": [{"reason": "small", "calls": 4}]}]}
    other = report | {
        "process": report["process"] | {"pid": 5},
        "call_sites": [site | sums | {"threads": 8, "refusals": [{"reason": "small", "calls": 1}]}],
    }
    (merged,) = call_sites(reading.read_job(write(one, other)))
    assert merged.name == "scf.py:12 in step"
    assert merged.sums.calls == 2 * sums["calls"] and merged.threads == 8
    assert merged.mean_size == pytest.approx(100)
    assert merged.refusals == {"small": 5} and merged.reason == "small"
