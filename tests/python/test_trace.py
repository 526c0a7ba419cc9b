"""`blastoff run --trace`: the contents of traces, however the program ends."""

import json
import re
import subprocess
import sys

import offload
import pytest
from command_rig import clean_environment

PRODUCTS = offload.PROGRAMS / "products"
pytestmark = pytest.mark.skipif(not PRODUCTS.exists(), reason="the scenario programs are not built: no BLAS to link against")


def trace(path, *command, settings=(), status=0):
    """Runs the program without a device, and returns the lines of its trace."""
    arguments = ["run", "--device=none", "--min-size=64", "--summary=never", f"--trace={path}", *settings, "--", *map(str, command)]
    environment = clean_environment() | {"LD_LIBRARY_PATH": str(offload.REFERENCE_BLAS), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-m", "blastoff", *arguments], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stderr
    return done


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def calls_of(path):
    return [line for line in lines_of(path) if "routine" in line]


def test_a_trace(tmp_path):
    path = tmp_path / "new" / "products.trace"
    trace(path, PRODUCTS, 200, 4)
    header, *calls, end = lines_of(path)
    assert (header["blastoff_trace"], header["program"], header["min_size"]) == (2, "products", 64)
    assert header["writes"] in ("uffd", "soft-dirty", "samples") and header["cores"] >= 1
    assert len(calls) == 6 == end["routines"]["dgemm"]["calls"]
    for call in calls:
        assert (call["routine"], call["arguments"]) == ("dgemm", "N N m=200 n=200 k=200")
        assert re.fullmatch(r"\+0x[0-9a-f]+", call["site"]), "a place in the program"
        assert call["flops"] == 2 * 200**3 and 0 < call["seconds"] <= end["end"]
    a, b, _ = (operand[0] for operand in calls[1]["operands"])
    assert [operand[1:5] for operand in calls[1]["operands"]] == [[200, 200, 200, 8]] * 3
    assert [operand[6] for operand in calls[0]["operands"]] == [0, 0, 1], "the first call does not read its result"
    assert [operand[6] for operand in calls[1]["operands"]] == [0, 0, 2]
    assert calls[-1]["operands"][0][0] == calls[-1]["operands"][1][0] == a
    starts = [call["start"] for call in calls]
    assert starts == sorted(starts) and end["end"] > starts[-1]
    if header["writes"] != "uffd":
        return
    # The program only adds one to the start of A before each of the calls in the middle.
    page = a - a % 4096
    for call in calls[1:5]:
        assert [page, 4096] in call["written"]
        assert not any(begin <= b + 200 * 800 < begin + size for begin, size in call["written"])
    assert "written" not in calls[0]


def test_small_calls_are_counted_only(tmp_path):
    path = tmp_path / "small.trace"
    trace(path, PRODUCTS, 32, 4)
    header, end = map(json.loads, path.read_text().splitlines())
    assert header["blastoff_trace"] == 2 and end["routines"]["dgemm"]["calls"] == 6


def test_a_process_that_is_killed(tmp_path):
    path = tmp_path / "killed.trace"
    program = tmp_path / "killed.py"
    program.write_text("""
import ctypes, os, signal, time
blas = ctypes.CDLL("libblas.so.3")
n = 96
size, one = ctypes.byref(ctypes.c_int(n)), ctypes.byref(ctypes.c_double(1))
matrices = [(ctypes.c_double * (n * n))() for _ in range(3)]
call = lambda: blas.dgemm_(b"N", b"N", size, size, size, one, matrices[0], size, matrices[1], size, one, matrices[2], size)
call(); call(); time.sleep(1.2); call()
os.kill(os.getpid(), signal.SIGKILL)
""")
    trace(path, sys.executable, program, status=-9)
    assert len(calls_of(path)) == 3, "what is older than a second is in the file"


def test_every_process_has_its_own(tmp_path):
    path = tmp_path / "some.trace"
    trace(path, "sh", "-c", f"{PRODUCTS} 100 1 & {PRODUCTS} 100 2; wait")
    found = sorted(len(calls_of(each)) for each in tmp_path.glob("some*.trace"))
    assert found == [3, 4]
    trace(f"{tmp_path}/folder/", PRODUCTS, 100, 1)
    assert [len(calls_of(each)) for each in (tmp_path / "folder").glob("*.trace")] == [3]
    trace(path, PRODUCTS, 100, 1)
    assert len(calls_of(path)) == 3, "an earlier run's is replaced"


CALL = """
import ctypes, os, signal, sys, time
blas = ctypes.CDLL("libblas.so.3")
def call(times, n=200):
    size, one = ctypes.byref(ctypes.c_int(n)), ctypes.byref(ctypes.c_double(1))
    matrices = [(ctypes.c_double * (n * n))() for _ in range(3)]
    for _ in range(times):
        matrices[0][7] += 1
        blas.dgemm_(b"N", b"N", size, size, size, one, matrices[0], size, matrices[1], size, one, matrices[2], size)
"""


def run_script(tmp_path, body, path=None, settings=()):
    """The traces of a script's processes, by process id."""
    script = tmp_path / "script.py"
    script.write_text(CALL + body)
    done = trace(path or tmp_path / "job.trace", sys.executable, script, settings=settings)
    found = {lines_of(each)[0]["pid"]: lines_of(each) for each in tmp_path.glob("**/*.trace")}
    return done, found


def summed(lines):
    return sum("routine" in line for line in lines)


def test_children_of_a_fork(tmp_path):
    """Each child has its own trace, whether it was forked before or after the first call, and however it ends."""
    body = """
def child(times, end):
    pid = os.fork()
    if pid == 0:
        call(times)
        end()
    os.waitpid(pid, 0)
child(1, sys.exit)
call(5)
child(2, sys.exit)
child(3, lambda: os._exit(0))
child(4, lambda: os.kill(os.getpid(), signal.SIGKILL))
call(1)
"""
    _, found = run_script(tmp_path, body)
    assert sorted(map(summed, found.values())) == [1, 2, 3, 4, 6]
    (parent,) = [lines for lines in found.values() if summed(lines) == 6]
    assert (tmp_path / "job.trace").exists() and parent[-1]["routines"]["dgemm"]["calls"] == 6
    for lines in found.values():
        header, *calls = [line for line in lines if "end" not in line]
        assert header["blastoff_trace"] == 2 and header["program"] and all(line["seconds"] > 0 for line in calls)
        ended = summed(lines) not in (3, 4)
        assert ("end" in lines[-1]) == ended, "a process that ends by exit says so"
        if ended:
            assert lines[-1]["routines"]["dgemm"]["calls"] == summed(lines)
            assert calls[-1]["start"] + calls[-1]["elapsed"] <= lines[-1]["end"]
    (child,) = [lines for lines in found.values() if summed(lines) == 3]
    assert child[0]["writes"] == "samples", "the kernel tracks no writes of a child"
    assert child[1]["start"] < 5, "seconds since the fork"


def test_children_of_children(tmp_path):
    body = """
call(5)
pid = os.fork()
if pid == 0:
    call(2)
    pid = os.fork()
    if pid == 0:
        call(3)
        os._exit(0)
    os.waitpid(pid, 0)
    call(2)
    os._exit(0)
os.waitpid(pid, 0)
"""
    _, found = run_script(tmp_path, body)
    assert sorted(map(summed, found.values())) == [3, 4, 5]
    assert all(lines[0]["pid"] == pid for pid, lines in found.items()) and len(found) == 3


def test_a_pool_of_workers(tmp_path):
    body = """
import multiprocessing
if __name__ == "__main__":
    call(1)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(call, [1] * 8, chunksize=1)
"""
    _, found = run_script(tmp_path, body, path=f"{tmp_path}/traces/")
    assert sum(map(summed, found.values())) == 9 and 2 <= len(found) <= 3


def test_a_child_without_calls_has_no_trace(tmp_path):
    _, found = run_script(tmp_path, "call(2)\nif os.fork() == 0: os._exit(0)\nos.wait()\nimport subprocess; subprocess.run(['true'])")
    assert list(map(summed, found.values())) == [2]


def test_traces_of_children_can_be_predicted(tmp_path):
    body = """
call(3)
for _ in range(2):
    if os.fork() == 0:
        call(2)
        os._exit(0)
    os.wait()
"""
    run_script(tmp_path, body)
    command = ["predict", "--json", "--machine=h200", *map(str, sorted(tmp_path.glob("*.trace")))]
    done = subprocess.run([sys.executable, "-m", "blastoff", *command], env=clean_environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["machines"][0]["totals"]["calls"] == 7


def test_without_the_launcher_a_child_does_not_replace_its_parents_trace(tmp_path):
    (tmp_path / "script.py").write_text(CALL + "call(5)\nif os.fork() == 0:\n    call(2)\n    sys.exit()\nos.wait()\n")
    environment = clean_environment() | {"LD_LIBRARY_PATH": str(offload.REFERENCE_BLAS), "LD_PRELOAD": str(offload.LIBRARY)}
    environment |= {"BLASTOFF_DEVICE": "none", "BLASTOFF_TRACE": f"{tmp_path}/job.trace", "BLASTOFF_MIN_SIZE": "64", "BLASTOFF_SUMMARY": "never"}
    done = subprocess.run([sys.executable, tmp_path / "script.py"], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert len(calls_of(tmp_path / "job.trace")) == 5
    assert [len(calls_of(path)) for path in tmp_path.glob("job.*.trace")] == [2]


def test_a_limit(tmp_path):
    path = tmp_path / "limited.trace"
    trace(path, PRODUCTS, 70, 2000, settings=["--trace-limit=512K"])
    assert path.stat().st_size <= 512 << 10
    calls = calls_of(path)
    assert max(call.get("weight", 1) for call in calls) > 1


def test_where_none_can_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    done = trace(tmp_path / "file" / "x.trace", PRODUCTS, status=2)
    assert "no trace can be written to" in done.stderr


def test_on_a_device(tmp_path):
    """Calls on the device have no seconds of the CPU, and tell where their matrices were."""
    path = tmp_path / "device.trace"
    trace(path, PRODUCTS, 100, 2, settings=["--device=simulated"])
    header, *calls, _ = lines_of(path)
    assert header["writes"] == "samples" and [call["seconds"] for call in calls] == [None] * 4
    assert calls[0]["places"].startswith("host > both, ") and calls[-1]["places"].startswith("both, ")


GUESTS = [
    ("environment", "errno"),
    ("environment", "memory-limit"),
    ("environment", "descriptor-limit"),
    ("environment", "thread-limit"),
    ("interruptions", "cancel"),
    ("interruptions", "cancel-asynchronously"),
    ("interruptions", "exit-in-handler"),
    ("interruptions", "write-barrier"),
    ("process", "fork"),
    ("process", "fork-beside-threads"),
    ("process", "fork-unseen", "_Fork"),
    ("threads", "blocks"),
    ("threads", "own"),
]


@pytest.mark.parametrize("command", GUESTS, ids=" ".join)
def test_the_program_is_left_alone(tmp_path, command):
    """Every call is traced, and the program behaves as without Blastoff."""
    program = offload.program(*command)
    settings = {"BLASTOFF_DEVICE": "none", "BLASTOFF_MIN_SIZE": "0", "BLASTOFF_SUMMARY": "never", "BLASTOFF_TRACE": str(tmp_path / "a.trace")}
    plain, outcome = offload.plain(program), offload.preloaded(program, env=settings, timeout=60)
    assert (outcome.status, outcome.stdout) == (plain.status, plain.stdout), outcome.stderr
    for path in tmp_path.glob("*.trace"):
        assert calls_of(path)
