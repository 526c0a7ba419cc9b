"""The kernels that the CPU's BLAS uses, and the advice for better ones: in the summary, reports, doctor and inspect."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import offload
import pytest
from blastoff import kernels
from blastoff.doctor import machine
from blastoff.doctor.finding import State
from blastoff.job.schema import report_schema

OPENBLAS = offload.REFERENCE_BLAS.parent / "openblas-pthread"
BLIS = offload.REFERENCE_BLAS.parent / "blis-openmp" / "libblis.so.4"
PRODUCTS = str(offload.PROGRAMS / "products")
FLAGS = Path("/proc/cpuinfo").read_text()
ADVICE = "OPENBLAS_CORETYPE="

has_openblas = pytest.mark.skipif(not (OPENBLAS / "libopenblas.so.0").exists(), reason="Debian's OpenBLAS is not installed")
has_avx2 = pytest.mark.skipif(" avx2 " not in FLAGS or " fma " not in FLAGS, reason="this processor has no AVX2")
has_programs = pytest.mark.skipif(not os.path.exists(PRODUCTS), reason="the scenario programs are not built: no BLAS to link against")


def with_kernels(name: str, folder: Path = OPENBLAS) -> dict[str, str]:
    return {"LD_LIBRARY_PATH": str(folder), "OPENBLAS_CORETYPE": name}


def run(blastoff, tmp_path, env: dict[str, str], *command: str) -> tuple[dict, str]:
    """Runs a command. Returns the report's part about the CPU, and the summary."""
    path = tmp_path / "run.json"
    done = blastoff("run", "--device=simulated", "--min-size=0", "--summary=always", f"--report={path}", *(command or (PRODUCTS, "40")), env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(path.read_text())["cpu"], " ".join(done.stderr.split())


@has_openblas
@has_programs
@has_avx2
def test_old_kernels_are_named_with_what_to_set(blastoff, tmp_path):
    cpu, summary = run(blastoff, tmp_path, with_kernels("Prescott"))
    (library,) = cpu["libraries"]
    assert (library["library"], library["kernels"], library["vectors"]) == ("OpenBLAS", "Prescott", "SSE")
    assert library["coretype"] in ("SkylakeX", "Haswell", "Zen")
    assert "CPU OpenBLAS 0.3" in summary and "kernels: Prescott (SSE)" in summary and f"set {ADVICE}{library['coretype']}" in summary
    assert ADVICE in " ".join(blastoff("report", tmp_path / "run.json").stdout.split())
    page = tmp_path / "run.html"
    assert blastoff("report", tmp_path / "run.json", f"--html={page}").returncode == 0 and "kernels: Prescott" in page.read_text()


@has_openblas
@has_programs
@has_avx2
def test_without_a_launcher(tmp_path):
    settings = {"BLASTOFF_DEVICE": "simulated", "BLASTOFF_SUMMARY": "always", "OPENBLAS_CORETYPE": "Prescott"}
    done = offload.preloaded([PRODUCTS, "40"], env=settings, blas=OPENBLAS)
    assert "kernels: Prescott (SSE)" in done.stderr and ADVICE in done.stderr


@has_openblas
@has_programs
@has_avx2
@pytest.mark.parametrize("intercept", ["auto", "preload"])
def test_kernels_of_this_processor_are_named_and_that_is_all(blastoff, tmp_path, intercept):
    cpu, summary = run(blastoff, tmp_path, with_kernels("Haswell") | {"BLASTOFF_INTERCEPT": intercept})
    assert [library["kernels"] for library in cpu["libraries"]] == ["Haswell"]
    assert "kernels: Haswell (AVX2)" in summary and ADVICE not in summary and "install" not in summary


STATIC = """
#include <stdio.h>
#include <stdlib.h>
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*, const double*, const int*,
            const double*, double*, const int*);
static const char* kernels = "Prescott";
const char* openblas_get_corename(void) {
  if (getenv("ASKED")) fclose(fopen(getenv("ASKED"), "w"));
  return kernels;
}
__attribute__((destructor)) static void quit(void) { kernels = "Unknown"; }
int main(void) {
  int n = 40;
  double one = 1, *a = calloc(3 * n * n, sizeof(double));
  dgemm_("N", "N", &n, &n, &n, &one, a, &n, a + n * n, &n, &one, a + 2 * n * n, &n);
  return 0;
}
"""


@pytest.fixture(scope="module")
def static_openblas(tmp_path_factory) -> str:
    """A program with a static OpenBLAS, which notes in the file that ASKED names that it was asked for its kernels."""
    archive, program = offload.REFERENCE_BLAS / "libblas.a", tmp_path_factory.mktemp("static") / "program"
    if not archive.exists():
        pytest.skip("there is no BLAS to link statically")
    words = ["cc", "-O1", "-x", "c", "-", "-x", "none", archive, "-lm", "-lgfortran", "-o", program]
    if subprocess.run(words, input=STATIC, text=True, capture_output=True).returncode != 0:
        pytest.skip("the BLAS cannot be linked statically")
    return str(program)


def test_an_openblas_in_the_program_itself(blastoff, tmp_path, static_openblas):
    """It exports no function, and ends before the library that would ask it."""
    cpu, _ = run(blastoff, tmp_path, {}, static_openblas)
    assert [(library["library"], library["kernels"], library["path"]) for library in cpu["libraries"]] == [("OpenBLAS", "Prescott", "")]


@pytest.mark.parametrize("summary", ["never", "always"])
def test_a_library_is_asked_only_where_somebody_reads_of_it(tmp_path, static_openblas, summary):
    asked = tmp_path / "asked"
    settings = {"BLASTOFF_DEVICE": "simulated", "BLASTOFF_MIN_SIZE": "0", "BLASTOFF_SUMMARY": summary, "ASKED": str(asked)}
    assert offload.preloaded([static_openblas], env=settings).status == 0
    assert asked.exists() == (summary == "always")


@has_programs
def test_the_reference_blas_is_to_be_replaced(blastoff, tmp_path):
    cpu, summary = run(blastoff, tmp_path, with_kernels("Haswell", offload.REFERENCE_BLAS))
    assert [library["library"] for library in cpu["libraries"]] == ["reference BLAS"]
    assert "CPU reference BLAS" in summary and "install an optimised BLAS, such as OpenBLAS" in summary and ADVICE not in summary


NUMPY = "import numpy; numpy.ones((40, 40)) @ numpy.ones((40, 40))"


def test_numpys_wheel_needs_nothing(blastoff, tmp_path):
    if importlib.util.find_spec("numpy") is None:
        pytest.skip("NumPy is not installed")
    cpu, summary = run(blastoff, tmp_path, {"OPENBLAS_CORETYPE": ""}, sys.executable, "-c", NUMPY)
    (library,) = cpu["libraries"]
    assert library["library"] == "OpenBLAS" and library["kernels"] and "numpy" in library["path"]
    assert library["advice"] == "" and ADVICE not in summary


@has_openblas
@has_avx2
def test_several_libraries_are_named_each_once(blastoff, tmp_path):
    if importlib.util.find_spec("numpy") is None:
        pytest.skip("NumPy is not installed")
    both = f"import ctypes; ctypes.CDLL({str(OPENBLAS / 'libblas.so.3')!r}); {NUMPY}"
    cpu, _ = run(blastoff, tmp_path, {"OPENBLAS_CORETYPE": "Haswell"}, sys.executable, "-c", both)
    assert len(cpu["libraries"]) == len({library["path"] for library in cpu["libraries"]}) == 2
    assert {library["kernels"] for library in cpu["libraries"]} == {"Haswell"}


def doctor(blastoff, env: dict[str, str]) -> dict:
    done = blastoff("doctor", "--json", env={"BLASTOFF_DEVICE": "simulated", "PATH": "/usr/bin:/bin"} | env)
    (found,) = (finding for finding in json.loads(done.stdout)["findings"] if finding["subject"] == "BLAS")
    return found


@has_openblas
@has_avx2
def test_doctor_measures_what_the_variable_would_give(blastoff):
    found = doctor(blastoff, with_kernels("Prescott"))
    assert "kernels: Prescott (SSE); the processor has AVX" in found["text"]
    assert re.search(r"Set OPENBLAS_CORETYPE=\w+: a product of order 1000 on one core then takes \d+\.\d times less", found["advice"])
    found = doctor(blastoff, with_kernels("Haswell"))
    assert "kernels: Haswell (AVX2)" in found["text"] and ADVICE not in found["advice"]


def test_doctor_on_the_reference_blas(blastoff):
    found = doctor(blastoff, with_kernels("Haswell", offload.REFERENCE_BLAS))
    assert "reference BLAS" in found["text"] and "Install an optimised BLAS, such as OpenBLAS" in found["advice"]


@has_openblas
@has_programs
@has_avx2
def test_inspect_measures_it_too(blastoff):
    def inspected(env: dict[str, str]) -> str:
        return " ".join(blastoff("inspect", PRODUCTS, env=env).stdout.split())

    text = inspected(with_kernels("Prescott"))
    assert text.count("kernels OpenBLAS") == 1 and "kernels: Prescott (SSE)" in text and f"Set {ADVICE}" in text and "times less" in text
    text = inspected(with_kernels("Haswell"))
    assert "kernels: Haswell (AVX2)" in text and ADVICE not in text
    assert "Install an optimised BLAS" in inspected(with_kernels("Haswell", offload.REFERENCE_BLAS))


@pytest.mark.parametrize(
    ("chosen", "results", "said"),
    [
        ("SkylakeX", [("a", 0.4), ("a", 0.1)], True),
        ("SkylakeX", [("a", 0.4), ("b", 0.1)], False),  # the newer kernels are wrong
        ("SkylakeX", [("a", 0.4), None], False),
        ("SkylakeX", [("a", 0.4), ("a", 0.39)], False),
        ("Prescott", [("a", 0.4), ("a", 0.1)], False),  # the library has no newer kernels
    ],
)
def test_nothing_is_said_of_a_variable_that_does_not_help(monkeypatch, chosen, results, said):
    answers = iter(result and {"digest": result[0], "seconds": result[1]} for result in results)
    monkeypatch.setattr(kernels, "ask", lambda blas, environment: {"libraries": [{"kernels": chosen}]})
    monkeypatch.setattr(kernels, "multiply", lambda blas, environment=None: next(answers))
    advice = kernels.measured.__wrapped__(Path("libblas.so.3"), "Prescott", "SkylakeX")
    assert ("4.0 times less" in advice) == said and (said or advice == "")


def test_a_library_that_cannot_be_loaded_says_nothing(monkeypatch, tmp_path):
    (tmp_path / "libblas.so.3").write_bytes(b"no library")
    monkeypatch.setattr(machine, "system_blas", lambda: str(tmp_path / "libblas.so.3"))
    monkeypatch.setattr(machine, "wheel_blas", list)
    found = machine.blas_libraries()
    assert found.state is State.GOOD and found.text == f"libblas.so.3 is {tmp_path}/libblas.so.3"


@pytest.mark.skipif(not BLIS.exists(), reason="Debian's BLIS is not installed")
def test_blis_tells_its_architecture():
    (library,) = kernels.ask(BLIS)["libraries"]
    assert library["library"] == "BLIS" and library["kernels"] and library["version"][:1].isdigit()


@pytest.mark.skipif(not BLIS.exists(), reason="Debian's BLIS is not installed")
def test_a_blis_that_hides_its_functions_tells_its_architecture_too():
    libblas = BLIS.with_name("libblas.so.3")
    (library,) = kernels.ask(libblas, {"BLIS_ARCH_TYPE": "0"})["libraries"]
    (direct,) = kernels.ask(BLIS, {"BLIS_ARCH_TYPE": "0"})["libraries"]
    assert library["kernels"] == direct["kernels"] != "" and library["description"] == f"BLIS, kernels: {direct['kernels']}"


@pytest.mark.parametrize(
    ("now", "vectors", "seconds", "said"),
    [
        ("generic", "AVX-512", 0.1, "Set BLIS_ARCH_TYPE=2 (skx): a product of order 1000 on one core then takes 4.0 times less. Compare results."),
        ("generic", "AVX2", 0.1, "Set BLIS_ARCH_TYPE=1 (haswell): a product of order 1000 on one core then takes 4.0 times less. Compare results."),
        ("generic", "AVX-512", 0.39, ""),
        ("generic", "AVX", 0.1, ""),
        ("zen3", "AVX-512", 0.1, ""),
    ],
)
def test_a_blis_that_does_not_know_the_processor(monkeypatch, now, vectors, seconds, said):
    chosen = {"0": "", "1": "haswell", "2": "skx"}
    monkeypatch.setattr(kernels, "ask", lambda blas, other: {"libraries": [{"library": "BLIS", "kernels": chosen[other["BLIS_ARCH_TYPE"]]}]})
    monkeypatch.setattr(kernels, "multiply", lambda blas, other=None: {"digest": "a", "seconds": seconds if other else 0.4})
    assert kernels.measured_blis.__wrapped__(Path("libblas.so.3"), now, vectors) == said


def test_the_single_library_of_mkl_tells_what_its_parts_run(blastoff):
    single = next((Path(sys.prefix) / "lib").glob("libmkl_rt.so*"), None)
    if single is None:
        pytest.skip("MKL's wheel is not installed")
    done = blastoff("inspect", single)
    said = " ".join(done.stdout.split())
    assert done.returncode == 0 and " kernels MKL 20" in said and "loads the libraries that define BLAS at the program's first call" in said


MKL = """
typedef struct { int major, minor, update; char *status, *build, *processor, *platform; } Version;
void mkl_serv_one(void) {}
void MKL_Get_Version(Version* version) {
  Version told = {2023, 1, 0, "Product", "20230303", "Intel(R) Advanced Vector Extensions (Intel(R) AVX) enabled processors", ""};
  *version = told;
}
void MKL_Get_Version_String(char* buffer, int length) { buffer[length] = 0; }
void dgemm_(void) {}
void dgemm(void) {}
void cblas_dgemm(int order, int trans) { if (order == trans) dgemm_(); }
"""


@has_avx2
def test_mkl_tells_its_processor(tmp_path):
    library = tmp_path / "libmkl_intel_lp64.so.2"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, "-x", "c", "-"], input=MKL, text=True, check=True)
    (found,) = kernels.ask(library)["libraries"]
    assert (found["library"], found["version"], found["vectors"], found["coretype"]) == ("MKL", "2023.1.0", "AVX", "")
    assert "MKL_ENABLE_INSTRUCTIONS" in found["advice"]


def test_the_schemas_name_the_kernels():
    library = report_schema()["properties"]["cpu"]["properties"]["libraries"]["items"]
    assert set(library["required"]) == set(library["properties"])
