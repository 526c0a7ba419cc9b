"""Blastoff beside other tools: wrappers, sanitizers, debuggers, profilers, and threads that do not wait."""

import shutil
import subprocess

import linking
import offload
import pytest
from linking import CALLS, EVERYWHERE, PATCHED_ONLY, Reach

MODES = ["patch", "auto"]
"""The third mode, preload, does nothing that auto does not do."""

native = pytest.mark.skipif(bool(linking.EMULATOR), reason="a tool for this machine's programs")


def tool(name, *trial):
    """The path of a tool. Skips the test if the tool does not work here."""
    path = shutil.which(name)
    if not path:
        pytest.skip(f"{name} is not installed")
    tried = subprocess.run([path, *trial], capture_output=True, text=True)
    if tried.returncode != 0:
        pytest.skip(f"{name} cannot work here: {tried.stderr.strip()[-200:]}")
    return path


@pytest.fixture
def program(workshop):
    return workshop.program("program", "common/program.c", workshop.blas())


def test_wrapper(workshop, program):
    """A call by the wrapper counts as the same call."""
    wrapper = workshop.shared_object("wrapper", "tools/wrapper.c", flags=["-ldl"])
    linking.check([program], EVERYWHERE, env=linking.environment(LD_PRELOAD=str(wrapper)))


def test_wrapper_before_a_plugin(workshop):
    wrapper = workshop.shared_object("wrapper", "tools/wrapper.c", flags=["-ldl"])
    host = workshop.program("host", "dlopen/host.c", flags=["-ldl"])
    plugin = workshop.shared_object("plugin", "common/plugin.c", "common/blas.c", flags=["-Wl,-Bsymbolic"])
    linking.check([host, "local", plugin], PATCHED_ONLY, env=linking.environment(LD_PRELOAD=str(wrapper)))


def test_busy_threads_while_plugins_are_loaded(workshop):
    program = workshop.program("busy", "threads/busy.c", workshop.blas(), flags=["-pthread", "-ldl"])
    plugins = [workshop.shared_object(f"plugin{i}", "common/plugin.c", "common/blas.c", flags=["-Wl,-Bsymbolic"]) for i in range(4)]
    threads = 16 * 4 * CALLS
    linking.check([program, *plugins], Reach(threads + 4 * CALLS, threads + 4 * CALLS, threads))


@native
@pytest.mark.parametrize("flags", [["-fsanitize=address"], ["-fsanitize=undefined"]], ids=" ".join)
def test_sanitizers(workshop, flags):
    """AddressSanitizer's shared runtime must be the first library unless an option allows another order."""
    own = workshop.program("own", "common/program.c", "common/blas.c", flags=flags)
    other = workshop.program("other", "common/program.c", workshop.blas(), flags=flags)
    env = linking.environment(ASAN_OPTIONS="verify_asan_link_order=0", UBSAN_OPTIONS="halt_on_error=1")
    linking.check([own], PATCHED_ONLY, env=env)
    linking.check([other], EVERYWHERE, env=env)


@native
@pytest.mark.parametrize("mode", MODES)
def test_valgrind(program, mode):
    """Operands are copied: first-use would wait for ever in munmap, and memcheck would report reads of bytes beside a matrix."""
    valgrind = tool("valgrind", "--error-exitcode=9", "/bin/true")
    outcome = linking.intercepted([valgrind, "-q", "--error-exitcode=9", program], mode, timeout=30)
    assert (outcome.status, outcome.stderr_of_program) == (0, "")
    assert outcome.report["policy"]["in_force"] == "copy"
    assert outcome.stdout.count(": right") == outcome.total("offloaded") == CALLS


def gdb(*commands, program, mode):
    debugger = tool("gdb", "-batch", "-nx", "-ex", "run", "/bin/true")
    settings = ["set breakpoint pending on", "set debuginfod enabled off", *commands]
    options = [part for command in settings for part in ("-ex", command)]
    return linking.intercepted([debugger, "-batch", "-nx", *options, program], mode, min_size=0)


@native
@pytest.mark.parametrize("mode", MODES)
def test_gdb_breakpoint_in_a_blas_function(program, mode):
    """The breakpoint is set when the library is loaded, before we patch. A function with a breakpoint is not patched."""
    outcome = gdb("break dgemm_", "run", "bt", *["continue"] * 20, program=program, mode=mode)
    assert "Breakpoint 1" in outcome.stdout
    assert "main () at" in outcome.stdout
    assert outcome.stdout.count("a product: right") == CALLS


@native
def test_gdb_breakpoint_in_a_patched_function(program):
    """The breakpoint is set on the jump itself."""
    outcome = gdb("break main", "run", "break *(&dgemm_)", "continue", *["continue"] * 20, program=program, mode="patch")
    assert outcome.stdout.count("a product: right") == CALLS
    assert outcome.total("offloaded") == CALLS


@native
@pytest.mark.parametrize("mode", MODES)
def test_gdb_backtrace_from_a_hook(program, mode):
    outcome = gdb("break blastoff::intercept::dispatch", "run", "bt", "delete", "continue", program=program, mode=mode)
    assert "blastoff::intercept::dispatch" in outcome.stdout
    assert "main () at" in outcome.stdout, "the way to the hook can be unwound"
    assert outcome.stdout.count("a product: right") == CALLS
    assert outcome.total("offloaded") == CALLS


@native
@pytest.mark.parametrize("mode", MODES)
def test_perf_record(program, mode, tmp_path):
    perf = tool("perf", "record", "-q", "-o", str(tmp_path / "trial"), "/bin/true")
    outcome = linking.intercepted([perf, "record", "-q", "-g", "-o", str(tmp_path / "data"), program], mode)
    assert outcome.status == 0, outcome.stderr
    assert outcome.stdout.count(": right") == outcome.total("offloaded") == CALLS
    read = offload.run([perf, "script", "-i", str(tmp_path / "data")], env=offload.environment())
    assert read.status == 0
