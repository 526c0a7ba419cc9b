"""FFTW's planners and executions on the device: right results, no write where none is allowed, also after faults."""

import re
import sys
from pathlib import Path

import offload
import pytest

PROGRAM = offload.BUILD / "tests" / "program" / "fftw_routines"
KINDS = ["dft", "dft_r2c", "dft_c2r"]
ROUTINES = [f"{precision}_execute_{kind}" for precision in ("fftw", "fftwf") for kind in KINDS]
UNSUPPORTED = "the device does not support this operation"
NOT_TIMED = "its time on the CPU was not known yet"


def run(what: str, device: str, **options) -> offload.Outcome:
    if not PROGRAM.exists():
        pytest.skip("FFTW is not installed")
    outcome = offload.offloaded([PROGRAM, what], device=device, env=offload.environment(blas=offload.FFTW), timeout=300, **options)
    assert outcome.status == 0, outcome.stderr + "\n".join(line for line in outcome.stdout.splitlines() if not line.startswith("ok"))
    return outcome


def executions(outcome: offload.Outcome) -> int:
    return int(re.search("^executions (.*)$", outcome.stdout, re.MULTILINE)[1])


@pytest.mark.parametrize("policy", ["first-use", "copy"])
@pytest.mark.parametrize("intercept", ["preload", "auto"])
def test_every_planner(device, policy, intercept):
    if (policy, intercept) == ("copy", "auto"):
        pytest.skip("each has been tried with another")
    outcome = run("every", device, policy=policy, settings=[f"--intercept={intercept}"])
    assert executions(outcome) > 600
    for routine in ROUTINES:
        assert outcome.routine(routine)["offloaded"] > 50, routine
    assert outcome.total("calls") == executions(outcome)
    if device == "simulated":
        assert outcome.total("offloaded") == executions(outcome)
        assert outcome.report["verification"]["checked"] == executions(outcome)
    assert outcome.report["verification"]["stale_pages"] == 0


def test_every_planner_by_functionals(device):
    """--verify=sample accepts right results."""
    outcome = run("every", device, verify="sample=100%")
    assert not [line for line in outcome.lines if line.startswith("verify")]
    if device == "simulated":
        assert outcome.report["verification"]["checked"] == executions(outcome)


def test_patched_functions_serve_programs_that_are_not_bound_to_our_names(device):
    """Results are right whichever functions can be patched, which depends on their code."""
    outcome = run("every", device, settings=["--intercept=patch"])
    patched = [name for entry in outcome.report["interception"]["objects"] for name in entry["patched"]]
    assert "fftw_plan_dft_3d" in patched
    assert "sfftw_plan_many_dft_" in patched


@pytest.mark.parametrize("what", ["threads", "again", "fork"])
def test_lives_of_plans(device, what):
    outcome = run(what, device)
    if what != "fork":
        assert outcome.total("offloaded") == executions(outcome)


@pytest.mark.parametrize("intercept", ["auto", "patch", "preload"])
def test_functions_found_by_dlsym(device, intercept):
    """Which functions are patched depends on their code. A plan whose end would not be noticed is not remembered."""
    run("opened", device, settings=[f"--intercept={intercept}"])


@pytest.mark.parametrize("intercept", ["auto", "patch", "preload"])
def test_a_plan_at_the_address_of_another(device, intercept):
    """The end and the making of plans are not noticed, so a plan is recognised by the contents that FFTW wrote into it."""
    outcome = run("reused", device, settings=[f"--intercept={intercept}"])
    assert intercept == "patch" or outcome.total("offloaded") > 0


@pytest.mark.parametrize("intercept", ["auto", "preload"])
def test_mkl_has_the_names_of_fftw(device, intercept):
    """MKL computes other results than FFTW for some guru plans. Results are the same as without Blastoff."""
    mkl = next((Path(sys.prefix) / "lib").glob("libmkl_rt.so*"), None)
    if mkl is None or not PROGRAM.exists():
        pytest.skip("the mkl wheel or FFTW is not installed")
    if device != "simulated":
        pytest.skip("cuFFT computes those guru plans as FFTW does")
    environment = offload.environment(blas=offload.FFTW, beside=[mkl.parent], LD_PRELOAD=str(mkl), MKL_THREADING_LAYER="SEQUENTIAL")
    alone = offload.plain([PROGRAM, "every"], env=environment)
    assert len(re.findall("^ok", alone.stdout, re.MULTILINE)) > 900, alone.stderr
    outcome = offload.offloaded([PROGRAM, "every"], device=device, env=environment, settings=[f"--intercept={intercept}"], timeout=300)
    assert (outcome.status, outcome.stdout) == (alone.status, alone.stdout), outcome.stderr
    for routine in ROUTINES:
        assert outcome.routine(routine)["offloaded"] > 100, routine


@pytest.mark.parametrize("intercept", ["auto", "preload"])
def test_every_form_of_dfti(device, intercept):
    """MKL's own interface. The names alone do not reach functions of a handle, so MKL is preloaded for them."""
    mkl = next((Path(sys.prefix) / "lib").glob("libmkl_rt.so*"), None)
    if mkl is None:
        pytest.skip("the mkl wheel is not installed")
    program = offload.ROOT / "tests" / "program" / "programs" / "dfti.py"
    environment = offload.environment(beside=[mkl.parent], MKL_THREADING_LAYER="SEQUENTIAL")
    if intercept == "preload":
        environment["LD_PRELOAD"] = str(mkl)
    command = [sys.executable, program, *([mkl] if intercept == "auto" else [])]
    outcome = offload.offloaded(command, device=device, env=environment, settings=[f"--intercept={intercept}"])
    assert outcome.status == 0 and outcome.stdout.endswith("right\n"), outcome.stdout + outcome.stderr
    made = {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", outcome.stdout)}
    left = made.pop("left")
    calls = {row["name"]: row["calls"] for row in outcome.report["routines"] if row["name"].startswith("dfti_")}
    assert sum(calls.values()) == sum(made.values()) + 1, "and one with a descriptor that is not committed"
    assert min(made.values()) > 50
    if device == "simulated":
        assert outcome.refused() == {UNSUPPORTED: left, "invalid arguments": 1}


def run_plans_of(library: str, device: str, intercept: str) -> offload.Outcome:
    program = PROGRAM.with_name(f"plans_of_{library}")
    outcome = offload.offloaded([program], device=device, verify="off", settings=[f"--intercept={intercept}"])
    assert (outcome.status, outcome.stdout) == (0, offload.plain([program]).stdout), outcome.stderr
    return outcome


@pytest.mark.parametrize(("library", "intercept"), [("fake_mkl", "auto"), ("fake_mkl", "patch"), ("fake_mkl", "preload"), ("discreet_mkl", "auto")])
def test_a_plan_of_mkl_is_known_by_what_mkl_tells_of_it(device, library, intercept):
    """If another plan has the same address, its contents are the same, but the lengths or the function that MKL tells differ."""
    outcome = run_plans_of(library, device, intercept)
    if intercept != "patch":
        assert outcome.total("offloaded") == 4


def test_plans_of_which_nothing_is_known_stay_on_the_cpu(device):
    outcome = run_plans_of("reticent_fft", device, "preload")
    assert not outcome.report
    assert [line for line in outcome.lines if "libreticent_fft.so do not tell what they compute" in line]


FAULTS = ["execute:20:memory", "execute:20:lost", "to-device:30:memory", "to-device:30:lost", "to-host:10:memory", "synchronize:20:lost",
          "allocate:5:memory", "back:3:memory"]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_leaves_the_right_result(device, fault):
    if device != "simulated":
        pytest.skip("faults are injected into the simulated device")
    policy = "first-use" if fault.startswith("back") else "copy"
    outcome = run("every", device, policy=policy, settings=[f"--simulated-fault={fault}"])
    assert executions(outcome) > 600
    if fault.endswith("lost"):
        assert outcome.refused()[offload.DEVICE_LOST] > 0


def test_small_transforms_stay_on_the_cpu(device):
    outcome = run("again", device, min_size=250)
    assert outcome.total("offloaded") == 0
    assert outcome.refused() == {offload.BELOW_MIN_SIZE: executions(outcome)}


def test_the_first_transforms_of_a_shape_are_timed_on_the_cpu(device):
    outcome = run("threads", device, min_size=10)
    assert outcome.refused()[NOT_TIMED] >= 3
