"""Real BLAS libraries, each in a separate process: compares every routine with every option with the definition."""

import dataclasses
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import offload
import pytest

PROGRAM = offload.BUILD / "tests" / "program" / "every_routine"
EVERY_ROUTINE = 30  # number of level-3 routines in the standard; some libraries also have gemmt and gemm3m


@dataclasses.dataclass(frozen=True)
class Library:
    """A library, and the prefix and suffix of its names."""

    path: Path | None  # None: the library is not installed
    prefix: str = ""
    suffix: str = "_"
    style: str = "fortran"
    package: str = ""  # the package that has it
    variables: dict[str, str] = dataclasses.field(default_factory=dict)  # that it reads


def in_wheel(package: str, pattern: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return None
    return next(Path(spec.origin).parents[1].glob(f"{package}.libs/{pattern}"), None)


def of_debian(file: str, package: str) -> dict[str, Library]:
    found = next(offload.LIBRARIES.glob(file), None)
    return {"fortran": Library(found, package=package), "cblas": Library(found, "cblas_", "", "cblas", package)}


def in_front_of(file: str, package: str, variables: dict[str, str]) -> dict[str, Library]:
    """A library that passes its calls on to another one, which a variable names."""
    return {style: dataclasses.replace(library, variables=variables) for style, library in of_debian(file, package).items()}


def mkl(part: str = "rt") -> Path | None:
    """One of MKL's libraries. Its wheel has no Python package, only libraries in the environment's lib/."""
    return next((Path(sys.prefix) / "lib").glob(f"libmkl_{part}.so*"), None)


DEBIAN = {
    "reference": ("blas/libblas.so.3", "libblas3"),
    "openblas-pthread": ("openblas-pthread/libopenblas.so.0", "libopenblas0-pthread"),
    "openblas-openmp": ("openblas-openmp/libopenblas.so.0", "libopenblas0-openmp"),
    "openblas-serial": ("openblas-serial/libopenblas.so.0", "libopenblas0-serial"),
    "blis": ("blis-*/libblis.so.[0-9]", "libblis-dev"),
    "atlas": ("atlas/libblas.so.3", "libatlas3-base"),
    # These have integers of 64 bits under the usual names.
    "openblas64": ("openblas64-*/libopenblas64.so.0", "libopenblas64-0-serial"),
    "blis64": ("blis64-*/libblis64.so.[0-9]", "libblis64-4-serial"),
}
NUMPY = in_wheel("numpy", "libscipy_openblas64_*.so")
AOCL = in_wheel("aoclda", "libblis-mt-*.so*")
SCIPY = in_wheel("scipy", "libscipy_openblas*.so")
FLEXIBLAS = in_front_of("libflexiblas.so.3", "libflexiblas3", {"FLEXIBLAS": str(offload.OPENBLAS / "libopenblas.so.0")})
# This library forwards each name that it has to another one. Only MKL has all of these routines.
BLASTRAMPOLINE = in_front_of(
    "libblastrampoline.so.5", "libblastrampoline and the mkl wheel", {"LBT_DEFAULT_LIBS": str(mkl()), "MKL_THREADING_LAYER": "SEQUENTIAL"}
)
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
LIBRARIES = {
    **{f"{name}-{style}": library for name, where in DEBIAN.items() for style, library in of_debian(*where).items()},
    "numpy-fortran": Library(NUMPY, "scipy_", "_64_", package="the numpy wheel"),
    "numpy-cblas": Library(NUMPY, "scipy_cblas_", "64_", "cblas", "the numpy wheel"),
    "scipy-fortran": Library(SCIPY, "scipy_", "_", package="the scipy wheel"),
    "scipy-cblas": Library(SCIPY, "scipy_cblas_", "", "cblas", "the scipy wheel"),
    "aocl-fortran": Library(AOCL, package="the aoclda wheel", variables=ONE_THREAD),
    "aocl-cblas": Library(AOCL, "cblas_", "", "cblas", "the aoclda wheel", ONE_THREAD),
    **{f"flexiblas-{style}": library for style, library in FLEXIBLAS.items()},
    **{f"blastrampoline-{style}": library for style, library in BLASTRAMPOLINE.items()},
    "mkl-fortran": Library(mkl(), package="the mkl wheel"),
    "mkl-cblas": Library(mkl(), "cblas_", "", "cblas", "the mkl wheel"),
}


def counted(text: str) -> dict[str, int]:
    """Number of calls that the program made, by routine."""
    return {line.split()[0]: int(line.split()[1]) for line in text.splitlines() if "absent" not in line}


def make_every_call(library: Library, intercept: str, binding: str, device: str) -> None:
    command = [PROGRAM, binding, library.path, library.prefix, library.suffix, library.style]
    settings = [f"--intercept={intercept}"]
    env = offload.environment(library.path.parent, **library.variables)
    outcome = offload.offloaded(command, device=device, settings=settings, env=env, timeout=300, launched=False)
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    calls = counted(outcome.stdout)
    assert len(calls) >= EVERY_ROUTINE
    assert outcome.total("calls") == outcome.total("offloaded") == sum(calls.values())
    assert outcome.report["verification"]["stale_pages"] == 0


WAYS = [("patch", "handle"), ("auto", "default"), ("preload", "default")]


@pytest.mark.parametrize(("intercept", "binding"), WAYS)
@pytest.mark.parametrize("name", LIBRARIES)
def test_every_routine(name, intercept, binding, device):
    library = LIBRARIES[name]
    if library.path is None:
        pytest.skip(f"the library is not installed ({library.package})")
    make_every_call(library, intercept, binding, device)


@pytest.mark.parametrize(("integers", "way"), offload.in_turns(["lp64", "ilp64"], WAYS))
@pytest.mark.parametrize("threads", ["sequential", "gnu_thread", "intel_thread", "tbb_thread"])
def test_every_routine_of_the_layers_of_mkl(integers, threads, way, device, tmp_path):
    """A program that was linked with MKL's layers needs three libraries instead of the single one, as NumPy and PyTorch of some builders do."""
    layers = [mkl(f"intel_{integers}"), mkl(threads), mkl("core")]
    if None in layers or shutil.which("gcc") is None:
        pytest.skip("the mkl wheel or a compiler is not installed")
    linked = tmp_path / "libneeds_layers.so"
    runtime = {"gnu_thread": ["-lgomp"], "intel_thread": ["-l:libiomp5.so"], "tbb_thread": ["-l:libtbb.so.12"]}.get(threads, [])
    folder = layers[0].parent
    command = ["gcc", "-shared", "-o", linked, "-Wl,--no-as-needed", f"-L{folder}", f"-Wl,-rpath,{folder}", *layers, *runtime]
    subprocess.run(command, check=True)
    for prefix, suffix, style in (("", "_", "fortran"), ("cblas_", "", "cblas")):
        make_every_call(Library(linked, prefix, suffix, style, variables={"OMP_NUM_THREADS": "2"}), *way, device)


def test_names_alone_do_not_reach_functions_of_a_handle(device):
    """Exported names do not reach such functions; patching does."""
    command = [PROGRAM, "handle", offload.REFERENCE_BLAS / "libblas.so.3", "", "_", "fortran"]
    outcome = offload.offloaded(command, device=device, settings=["--intercept=preload"])
    assert outcome.status == 0
    assert outcome.report == {}, "no call was seen"


def larger_than_the_device(library: Library, policy: str, *settings: str) -> offload.Outcome:
    """Matrices of order 120, of up to 230 kB, on a device with room for 200 kB of matrices."""
    command = [PROGRAM, "default", library.path, library.prefix, library.suffix, library.style, "120"]
    options = ["--simulated-memory=256K", *settings]
    env = offload.environment(library.path.parent)
    verify = "off" if settings else "abort"
    return offload.offloaded(command, policy=policy, settings=options, env=env, timeout=300, verify=verify, launched=False)


@pytest.mark.parametrize(("name", "policy"), [("reference-fortran", "first-use"), ("numpy-cblas", "copy")])
def test_calls_that_are_larger_than_the_device_run_there_block_by_block(name, policy):
    library = LIBRARIES[name]
    if library.path is None:
        pytest.skip(f"the library is not installed ({library.package})")
    outcome = larger_than_the_device(library, policy)
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    for routine in outcome.report["routines"]:
        if not routine["name"].endswith("mv"):
            assert routine["offloaded"] == routine["calls"], routine["name"]
    copied = {row["reason"]: row["calls"] for row in outcome.report["policy"]["copied_operands"]}
    assert copied["too large for the device: computed block by block"] > 50


@pytest.mark.parametrize("fault", ["execute:40", "execute:333", "to-host:500:lost", "to-device:700", "allocate:50:memory"])
def test_a_device_that_fails_between_two_blocks(fault):
    """The CPU computes the remaining blocks."""
    library = LIBRARIES["numpy-cblas"]
    if library.path is None:
        pytest.skip(f"the library is not installed ({library.package})")
    outcome = larger_than_the_device(library, "copy", f"--simulated-fault={fault}")
    if "half overwritten" in outcome.stderr:
        assert outcome.status == 70
        return
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    assert 0 < outcome.total("offloaded") <= outcome.total("calls")
    assert ("lost" in outcome.report["device"]["state"]) == (not fault.endswith(":memory"))


def test_batches_of_mkl_in_all_types_with_integers_of_both_widths():
    library = mkl()
    if library is None:
        pytest.skip("the mkl wheel is not installed")
    command = [sys.executable, offload.ROOT / "tests" / "program" / "programs" / "batches.py", library]
    outcome = offload.offloaded(command, env=offload.environment(MKL_THREADING_LAYER="SEQUENTIAL"))
    assert (outcome.status, outcome.stdout) == (0, "right\n"), outcome.stdout + outcome.stderr
    batches = {routine["name"]: routine for routine in outcome.report["routines"] if "batch" in routine["name"]}
    calls_of = {"gemm_batch": 16, "gemm_batch_strided": 8, "trsm_batch": 16, "trsm_batch_strided": 16}
    expected = {letter + name: calls for letter in "sdcz" for name, calls in calls_of.items()}
    assert {name: routine["offloaded"] for name, routine in batches.items()} == expected
    assert {name: routine["calls"] for name, routine in batches.items()} == expected
