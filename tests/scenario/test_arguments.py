"""The original routine reports bad arguments; Blastoff reports bad options of its own."""

import offload
import pytest

CASES = ["letter", "size", "leading-dimension", "side", "cblas-option", "cblas-order", "cblas-row-major"]


@pytest.mark.parametrize("case", CASES)
def test_the_original_reports_bad_arguments(unharmed, policy, case):
    """xerbla's message and the exit status are the original's, and valid calls before and after the bad one still run."""
    outcome = unharmed("invalid", case, policy=policy)
    assert outcome.lines == []
    if outcome.report and outcome.status == 0:
        assert outcome.refused() == {offload.INVALID_ARGUMENTS: 1}
        assert outcome.total("offloaded") == 2


def test_the_reference_really_complains():
    assert "DGEMM" in offload.plain(offload.program("invalid", "size")).stderr


BAD_OPTIONS = [
    ("--policy=fastest", "BLASTOFF_POLICY", "fastest", "first-use"),
    ("--min-size=many", "BLASTOFF_MIN_SIZE", "many", "integer"),
    ("--min-size=-3", "BLASTOFF_MIN_SIZE", "-3", "0"),
    ("--device=tpu", "BLASTOFF_DEVICE", "tpu", "simulated"),
    ("--device-memory=lots", "BLASTOFF_DEVICE_MEMORY", "lots", "%"),
    ("--summary=maybe", "BLASTOFF_SUMMARY", "maybe", "always"),
    ("--routines=dgem", "BLASTOFF_ROUTINES", "dgem", "did you mean dgemm?"),
    ("--verify=often", "BLASTOFF_VERIFY", "often", "sample=PERCENT"),
]


@pytest.mark.parametrize(("option", "variable", "value", "accepted"), BAD_OPTIONS)
def test_the_launcher_refuses_a_bad_option(option, variable, value, accepted):
    outcome = offload.run([offload.COMMAND, "run", option, "--", *offload.program("products")], env=offload.environment())
    assert outcome.status == 2
    assert outcome.stdout == "", "the program must not start"
    assert option.split("=")[0] in outcome.stderr and value in outcome.stderr and accepted in outcome.stderr


@pytest.mark.parametrize(("option", "variable", "value", "accepted"), BAD_OPTIONS)
def test_the_library_goes_on_with_the_default(option, variable, value, accepted):
    command = offload.program("products")
    plain = offload.plain(command)
    settings = {"BLASTOFF_DEVICE": "simulated", "BLASTOFF_MIN_SIZE": "0", "BLASTOFF_SUMMARY": "never", "CUDA_VISIBLE_DEVICES": ""}
    outcome = offload.preloaded(command, env=settings | {variable: value})
    assert (outcome.status, outcome.stdout) == (plain.status, plain.stdout)
    named = [line for line in outcome.lines if variable in line]
    assert len(named) == 1 and value in named[0] and accepted in named[0], outcome.stderr


def test_an_unknown_setting_is_named():
    outcome = offload.preloaded(
        offload.program("products"),
        env={"BLASTOFF_DEVICE": "simulated", "BLASTOFF_MINSIZE": "3", "BLASTOFF_SUMMARY": "never"},
    )
    assert outcome.status == 0
    assert [line for line in outcome.lines if "BLASTOFF_MINSIZE" in line and "BLASTOFF_MIN_SIZE" in line]


def test_an_unknown_option_is_named():
    outcome = offload.run([offload.COMMAND, "run", "--polcy=copy", "--", "/bin/true"], env=offload.environment())
    assert outcome.status == 2
    assert "--polcy" in outcome.stderr


def test_a_program_that_is_not_there():
    outcome = offload.run([offload.COMMAND, "run", "--", "/no/such/program"], env=offload.environment())
    assert outcome.status == 127
    assert "/no/such/program" in outcome.stderr
