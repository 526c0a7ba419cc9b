"""When a device computes a wrong number, --verify names the call, in each front end."""

import re

import offload
import pytest

ROUTINES = {
    "gemm": "dgemm",
    "gemv": "dgemv",
    "potrf": "dpotrf",
    "dft": "fftw_execute_dft",
    "r2c": "fftw_execute_dft_r2c",
    "c2r": "fftw_execute_dft_c2r",
}


@pytest.fixture
def run(device):
    if device != "simulated":
        pytest.skip("wrong numbers are made by the simulated device")

    def run(what: str, verify: str, fault: str = "execute:2:wrong") -> offload.Outcome:
        environment = offload.environment(beside=[offload.REFERENCE_LAPACK, offload.FFTW])
        command = offload.program("one_of_each", what)
        settings = [f"--simulated-fault={fault}"] if fault else []
        outcome = offload.offloaded(command, verify=verify, settings=settings, env=environment, launched=False)
        if "not built" in outcome.stdout:
            pytest.skip("the library is not installed")
        return outcome

    return run


@pytest.mark.parametrize("verify", ["sample=100%", "report"])
@pytest.mark.parametrize("what", ROUTINES)
def test_the_program_goes_on_and_the_call_is_named(run, what, verify):
    outcome = run(what, verify)
    assert outcome.status == 0
    assert outcome.stdout.endswith("different\n")
    (line,) = outcome.lines
    error, bound = re.fullmatch(rf"verify: {ROUTINES[what]} .*: relative error (\S+) exceeds the bound (\S+) at row \d+, column \d+", line).groups()
    assert float(error) > float(bound)
    found = outcome.report["verification"]
    assert (found["checked"], found["violations"], found["stale_pages"]) == (2, 1, 0)
    assert found["worst_relative_error"] == pytest.approx(float(error), rel=0.01)


@pytest.mark.parametrize("what", ROUTINES)
def test_abort_ends_the_program(run, what):
    outcome = run(what, "abort", "execute:1:wrong")
    assert outcome.status == 70
    assert outcome.stdout == ""
    assert outcome.lines[0].startswith(f"verify: {ROUTINES[what]} ")
    assert outcome.report["verification"]["violations"] == 1


@pytest.mark.parametrize("verify", ["sample=100%", "report", "abort"])
@pytest.mark.parametrize("what", ROUTINES)
def test_right_numbers_pass(run, what, verify):
    outcome = run(what, verify, "")
    assert outcome.status == 0
    assert outcome.stdout.endswith("equal\n")
    assert outcome.lines == []
    found = outcome.report["verification"]
    assert (found["checked"], found["violations"]) == (2, 0)


def test_what_is_not_checked_is_not_found(run):
    outcome = run("gemm", "off")
    assert outcome.stdout.endswith("different\n")
    assert outcome.lines == []
