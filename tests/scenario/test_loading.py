"""How the library is loaded into a program, how calls reach it, and its cost for a program that makes no calls."""

import offload
import pytest

SETTINGS = {"BLASTOFF_DEVICE": "simulated", "BLASTOFF_MIN_SIZE": "0"}


@pytest.mark.parametrize("linked", ["pie", "no_pie", "full_relro", "lazy", "exporting"])
def test_linker_situations(unharmed, policy, linked):
    outcome = unharmed(f"products_{linked}", policy=policy)
    assert outcome.total("offloaded") == 6


def test_function_pointers(unharmed):
    outcome = unharmed("styles", "pointers")
    assert outcome.total("offloaded") == 3


def test_cblas_that_calls_fortran_is_counted_once(unharmed):
    outcome = unharmed("styles", "cblas")
    assert outcome.total("calls") == outcome.total("offloaded") == 2


def test_small_cblas_calls_are_counted_once(unharmed):
    """Below the threshold the original routine runs, and in the reference BLAS cblas_dgemm calls dgemm_."""
    outcome = unharmed("styles", "cblas", min_size=1000)
    assert outcome.total("calls") == 2
    assert outcome.refused() == {offload.BELOW_MIN_SIZE: 2}


PLUGINS = ["one", "two", "wide"]


@pytest.mark.parametrize("min_size", [0, 1000])
def test_several_blas_copies_at_once(unharmed, policy, min_size):
    """Each plugin's calls reach the BLAS copy that it was linked against (the output says which), with the CPU and with the
    simulated device."""
    paths = [offload.PROGRAMS / f"libplugin_{name}.so" for name in PLUGINS]
    outcome = unharmed("plugins", *paths, policy=policy, min_size=min_size)
    assert outcome.total("calls") == 9
    assert outcome.total("offloaded") == (9 if min_size == 0 else 0)


def test_a_program_without_calls_is_left_alone():
    plain = offload.run(["/bin/true"], env=offload.environment())
    loaded = offload.preloaded(["/bin/true"], env=SETTINGS)
    assert (loaded.status, loaded.stdout, loaded.stderr) == (plain.status, "", "")


def test_loading_starts_no_thread_and_leaves_no_descriptor():
    plain = offload.plain(offload.program("environment", "idle"))
    loaded = offload.preloaded(offload.program("environment", "idle"), env=SETTINGS)
    assert loaded.stdout == plain.stdout
    assert loaded.stderr == ""


def test_small_calls_open_no_device():
    outcome = offload.preloaded(offload.program("small", 1000, 2), env={"BLASTOFF_DEVICE": "cuda", "BLASTOFF_VERIFY": "abort"})
    assert outcome.status == 0
    assert outcome.stderr == "", "no device was used: no summary, and no word of a missing GPU"


def test_millions_of_small_calls(unharmed):
    """bench/ measures their cost; this test checks that each one is counted and that the device is never opened."""
    outcome = unharmed("small", 1_000_000, 2, min_size=100)
    assert outcome.total("calls") == 2_000_000
    assert outcome.refused() == {offload.BELOW_MIN_SIZE: 2_000_000}
    assert outcome.report["device"]["state"] == "not started"


def test_without_the_launcher(device):
    outcome = offload.preloaded(offload.program("products"), env=SETTINGS | {"BLASTOFF_DEVICE": device})
    plain = offload.plain(offload.program("products"))
    assert (outcome.status, outcome.stdout) == (plain.status, plain.stdout)
    assert "dgemm" in outcome.stderr, "the summary: a device was used"


@pytest.mark.parametrize("program", ["/bin/true", "/bin/sh", "/usr/bin/env"])
def test_programs_of_a_job(program):
    """The library prints nothing in them; the launcher says in one line that there was no BLAS."""
    outcome = offload.preloaded([program])
    assert (outcome.status, outcome.stderr) == (0, "")
    outcome = offload.run([offload.COMMAND, "run", "--", program], env=offload.environment())
    assert (outcome.status, outcome.stderr.count("\n")) == (0, 1)
    assert outcome.lines[0].startswith("no BLAS found in ")
