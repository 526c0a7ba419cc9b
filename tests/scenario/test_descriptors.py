"""The program may close and reuse any descriptor, also one of ours. We write to the stderr of the start, or not at all."""

import subprocess
import sys

import offload
import pytest


@pytest.mark.parametrize("case", ["closed", "closed-low", "reused", "inherited"])
def test_the_programs_own_numbers(unharmed, policy, device, case):
    """munmap() returns, changes to memory are still noticed, and we read none of the program's descriptors."""
    outcome = unharmed("descriptors", case, policy=policy, verify="off", timeout=30)
    if device.startswith("cuda") and outcome.refused():  # closing all descriptors closes the driver's too: the GPU is lost
        assert "GPU lost" in outcome.stderr
        return
    assert outcome.total("offloaded") == outcome.total("calls")
    if outcome.tracks:
        assert outcome.report["policy"]["copied_operands"] == []  # tracking goes on


def test_locks_and_ends_of_pipes(unharmed, policy, tmp_path):
    unharmed("descriptors", "locks-and-pipes", tmp_path / "locked", policy=policy)


@pytest.mark.parametrize("case", ["stderr-closed", "stderr-redirected"])
def test_a_file_that_took_the_number_of_stderr(device, tmp_path, case):
    """The summary and the lines of --log calls go to the stream that the process was given at its start, or nowhere."""
    path = tmp_path / "mine"
    outcome = offload.preloaded(
        offload.program("descriptors", case, path),
        env={"BLASTOFF_DEVICE": device, "BLASTOFF_MIN_SIZE": "0", "BLASTOFF_SUMMARY": "always", "BLASTOFF_LOG": "calls"},
    )
    assert outcome.status == 0 and "WRONG" not in outcome.stdout
    assert path.read_bytes() == b"mine\n"


FEW = """
import ctypes, os, resource
blas = ctypes.CDLL("libblas.so.3")
matrices = [(ctypes.c_double * 1600)() for _ in range(3)]
size, one = ctypes.byref(ctypes.c_int(40)), ctypes.byref(ctypes.c_double(1))
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
taken = []
try:
    while True:
        taken.append(os.open("/dev/null", 0))
except OSError:
    pass
blas.dgemm_(b"N", b"N", size, size, size, one, matrices[0], size, matrices[1], size, one, matrices[2], size)
"""
LIMIT = "Too many open files (this process may open no more files: ulimit -n)"


@pytest.mark.parametrize(("name", "said"), [("simulated", f"userfaultfd: {LIMIT}"), ("cuda", f"the NVIDIA driver cannot be loaded: open: {LIMIT}")])
def test_where_none_is_left_that_is_the_reason(device, name, said):
    """The message blames neither a container's restrictions nor a missing driver."""
    if device != "simulated":
        pytest.skip("the reason is the same on all devices")
    env = {"BLASTOFF_DEVICE": name, "BLASTOFF_MIN_SIZE": "0", "BLASTOFF_DECIDE": "size", "BLASTOFF_SUMMARY": "always"}
    outcome = offload.preloaded([sys.executable, "-c", FEW], env=env)
    assert outcome.status == 0 and said in outcome.stderr and "container" not in outcome.stderr, outcome.stderr


def test_without_proc_a_reason_is_said_once(device):
    if device != "simulated":
        pytest.skip("the reason is the same on all devices")
    if subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/proc"], capture_output=True).returncode != 0:
        pytest.skip("/proc cannot be hidden here")
    env = {"BLASTOFF_DEVICE": "simulated", "BLASTOFF_MIN_SIZE": "0", "BLASTOFF_DECIDE": "size", "BLASTOFF_SUMMARY": "never"}
    hidden = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs tmpfs /proc; exec {offload.PROGRAMS / 'products'} 40"]
    outcome = offload.preloaded(hidden, env=env)
    reason = "/proc/self/pagemap: No such file or directory (/proc is not mounted here)"
    assert outcome.status == 0 and outcome.stderr.count(f"first-use: {reason}\n") == 1 and outcome.stderr.count(reason) == 1, outcome.stderr
