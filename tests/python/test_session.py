"""Blastoff in a running Python process: enable(), disable(), regions, scripts."""

import json
import subprocess
import sys
import textwrap

import offload
import pytest
from blastoff import drivers
from blastoff.job import processes
from blastoff.session.counts import Counts
from blastoff.session.view import text
from command_rig import clean_environment

SIMULATED = {"BLASTOFF_DEVICE": "simulated", "BLASTOFF_MIN_SIZE": "100", "BLASTOFF_VERIFY": "abort", "OPENBLAS_NUM_THREADS": "1"}
BEGIN = "import sys, blastoff\n"
PRODUCT = """
def product():
    import numpy
    a = numpy.ones((200, 200))
    assert (a @ a == 200).all()
"""


@pytest.fixture
def session(tmp_path):
    """Runs Python source that can use `blastoff` and product(), which multiplies two 200 x 200 matrices by NumPy."""

    def run(source: str, *arguments: str, preload: bool = False, **env: str) -> subprocess.CompletedProcess:
        path = tmp_path / "session.py"
        path.write_text(BEGIN + PRODUCT + textwrap.dedent(source))
        before = [str(offload.COMMAND), "run", "--"] if preload else []
        return subprocess.run(
            [*before, sys.executable, str(path), *arguments],
            env=clean_environment() | SIMULATED | env,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


def printed(done: subprocess.CompletedProcess):
    """The last JSON that a session has printed."""
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


SHOW = "\nimport json\nprint(json.dumps([[row['routine'], row['calls'], row['offloaded']] for row in blastoff.stats()]))\n"


def test_lines_of_a_script(session):
    done = session("""
        blastoff.enable()
        def inner():
            product()
        inner()
        inner()
        import json
        print(json.dumps([[row["line"], row["calls"]] for row in blastoff.stats("line")]))
    """)
    (line,) = printed(done)
    assert line[0].endswith(" in product") and line[1] == 2


def test_importing_loads_nothing(session):
    done = session(
        """
        light = [name for name in sys.modules if name.startswith(("blastoff.", "numpy", "rich", "matplotlib", "jinja2", "ctypes"))]
        assert not light, light
        assert not blastoff.is_enabled()
        assert "libblastoff" not in open("/proc/self/maps").read()
        with blastoff.region("before") as before:
            product()
        assert before.calls == 0 and before.seconds > 0
        assert blastoff.stats() == []
        print(0)
        """
    )
    assert printed(done) == 0 and done.stderr == ""


def test_the_public_names_are_there(session):
    done = session("for name in blastoff.__all__: getattr(blastoff, name)\nassert set(blastoff.__all__) <= set(dir(blastoff))\nprint(0)")
    assert printed(done) == 0
    assert session("blastoff.no_such_name").stderr.splitlines()[-1].startswith("AttributeError: module 'blastoff' has no attribute")


def test_what_is_loaded_already_is_patched(session):
    done = session("import numpy\nblastoff.enable()\nproduct()" + SHOW)
    assert printed(done) == [["dgemm", 1, 1]]
    assert "dgemm" in done.stderr and "offloaded" in done.stderr  # the summary at exit


@pytest.mark.parametrize(
    "later",
    [
        "product()",
        "import scipy.linalg, numpy\nassert (scipy.linalg.blas.dgemm(1, numpy.ones((200, 200)), numpy.ones((200, 200))) == 200).all()",
    ],
    ids=["numpy", "scipy"],
)
def test_what_is_imported_later_is_patched(session, later):
    assert printed(session(f"assert 'numpy' not in sys.modules\nblastoff.enable()\n{later}" + SHOW)) == [["dgemm", 1, 1]]


BY_CTYPES = """
import ctypes, os
blastoff.enable()
blas = ctypes.CDLL(sys.argv[1], mode=os.RTLD_LOCAL)
n, one, zero = ctypes.c_int(200), ctypes.c_double(1), ctypes.c_double(0)
matrices = [(ctypes.c_double * 40000)(*[1.0] * 40000) for _ in range(3)]
a, b, c = matrices
size, by = ctypes.byref(n), ctypes.byref
blas.dgemm_(b"N", b"N", size, size, size, by(one), a, size, b, size, by(zero), c, size)
assert c[0] == 200
"""


@pytest.mark.parametrize("folder", [offload.OPENBLAS, offload.REFERENCE_BLAS], ids=["openblas", "reference"])
def test_what_ctypes_loads_later_is_patched(session, folder):
    if not (folder / "libblas.so.3").exists():
        pytest.skip(f"{folder} is not installed")
    assert printed(session(BY_CTYPES + SHOW, str(folder / "libblas.so.3"))) == [["dgemm", 1, 1]]


OUTER = """
#include <dlfcn.h>
int ask(void) {
  void* found = dlopen("libinner.so", RTLD_NOW);
  return found ? ((int (*)(void))dlsym(found, "answer"))() : -1;
}
"""


def test_a_library_is_found_as_its_caller_means_it(session, tmp_path):
    """dlopen() is redirected, but must still search the folders of its caller, such as $ORIGIN in the caller's RUNPATH."""
    inner, outer = tmp_path / "inner", tmp_path / "outer.so"
    inner.mkdir()
    (tmp_path / "inner.c").write_text("int answer(void) { return 42; }\n")
    (tmp_path / "outer.c").write_text(OUTER)
    subprocess.run(["gcc", "-shared", "-fPIC", tmp_path / "inner.c", "-o", inner / "libinner.so"], check=True)
    subprocess.run(["gcc", "-shared", "-fPIC", tmp_path / "outer.c", "-Wl,-rpath,$ORIGIN/inner", "-o", outer], check=True)
    done = session("import ctypes\nblastoff.enable()\nprint(ctypes.CDLL(sys.argv[1]).ask())", str(outer))
    assert printed(done) == 42
    missing = session(
        "import ctypes\nblastoff.enable()\ntry: ctypes.CDLL('libnosuch.so')\nexcept OSError as error: print(0, error, file=sys.stderr)\nprint(0)"
    )
    assert printed(missing) == 0 and "libnosuch.so: cannot open shared object file" in missing.stderr


def test_switching_off_and_on(session):
    done = session(
        """
        import json
        blastoff.disable()
        blastoff.enable()
        states = [blastoff.is_enabled()]
        product()
        blastoff.disable()
        states.append(blastoff.is_enabled())
        product(); product()
        held = blastoff.session.attached.in_process().report()["device"]["memory_held"]
        blastoff.enable()
        product()
        print(json.dumps([states, blastoff.stats("reason"), [held["bytes"] for held in held if held["client"] == "mirrors"]]))
        """
    )
    states, reasons, mirrors = printed(done)
    assert states == [True, False]
    assert reasons == [{"reason": "offloading was switched off by the program", "calls": 2}]
    assert mirrors == [0]


def test_results_are_right_after_switching_off_and_on(session):
    """If a matrix changes while Blastoff is off, the device's old contents are not used."""
    done = session(
        """
        import numpy
        blastoff.enable()
        a = numpy.ones((300, 300))
        for step in range(1, 6):
            assert (a @ a == 300 * a[0, 0] ** 2).all()
            blastoff.disable()
            a += 1
            assert (a @ a == 300 * a[0, 0] ** 2).all()
            blastoff.enable()
        print([[row["calls"], row["offloaded"]] for row in blastoff.stats()])
        """
    )
    assert printed(done) == [[10, 5]]


CALLING_THREADS = """
import threading, numpy
wrong, workers, over = [], [], threading.Event()
def work(size):
    a = numpy.ones((size, size))
    while not over.is_set():
        if not (a @ a == size).all():
            wrong.append(size)
def start(*sizes):
    workers.extend(threading.Thread(target=work, args=(size,)) for size in sizes)
    for worker in workers: worker.start()
def wrong_results():
    over.set()
    for worker in workers: worker.join()
    return len(wrong)
"""


def test_switching_while_others_call(session):
    done = session(
        CALLING_THREADS
        + textwrap.dedent("""
        blastoff.enable()
        start(120, 160, 200)
        for _ in range(20):
            blastoff.disable()
            blastoff.enable()
        print(wrong_results())
        """)
    )
    assert printed(done) == 0


def test_enabling_while_others_call(session):
    """Functions are patched while other threads call them."""
    done = session(
        CALLING_THREADS
        + textwrap.dedent("""
        start(20, 160, 200)
        blastoff.enable()
        while not any(row["offloaded"] for row in blastoff.stats()): pass
        print(wrong_results())
        """)
    )
    assert printed(done) == 0


def test_regions(session):
    done = session(
        """
        import json
        blastoff.enable()
        with blastoff.region("outer") as outer:
            product()
            for _ in range(2):
                with blastoff.region("inner") as inner:
                    product()
        rows = {row["region"]: row for row in blastoff.stats("region")}
        try:
            with blastoff.region("failing"):
                product()
                raise ValueError
        except ValueError:
            pass
        print(repr(outer), file=sys.stderr)
        attributes = [
            [one.calls, one.offloaded, one.offloaded_share, one.bytes_moved > 0, 0 < one.blas_seconds <= one.seconds] for one in (outer, inner)
        ]
        times = {name: [row["times"], row["calls"]] for name, row in rows.items()}
        print(json.dumps([attributes, times, blastoff.stats("region")[-1]["calls"]]))
        """
    )
    attributes, rows, failing = printed(done)
    assert attributes == [[3, 3, 1, True, True], [1, 1, 1, True, True]]
    assert rows == {"inner": [2, 2], "outer": [1, 3]}
    assert failing == 1
    assert "outer: 3 of 3 calls offloaded, 100 % of the arithmetic seen" in done.stderr


def test_a_region_counts_all_threads(session):
    done = session(
        """
        import threading
        blastoff.enable()
        with blastoff.region("all") as region:
            workers = [threading.Thread(target=product) for _ in range(3)]
            for one in workers: one.start()
            for one in workers: one.join()
        print(region.calls)
        """
    )
    assert printed(done) == 3


def test_stats_are_a_table(session):
    done = session("blastoff.enable()\nproduct()\nprint(blastoff.stats())\nprint(blastoff.stats('reason'))\nprint(blastoff.stats()._repr_html_())")
    assert done.returncode == 0, done.stderr
    head, row, *rest = done.stdout.splitlines()
    assert head.split()[:3] == ["routine", "calls", "offloaded"] and row.split()[:3] == ["dgemm", "1", "1"] and len(head) == len(row)
    assert rest[0] == "no calls so far" and "<table>" in rest[1]


def test_stats_are_a_data_frame_where_pandas_is(session, tmp_path):
    (tmp_path / "pandas.py").write_text("class DataFrame:\n    def __init__(self, rows): self.rows = rows\n")
    done = session("blastoff.enable()\nproduct()\nframe = blastoff.stats()\nprint(type(frame).__name__, len(frame.rows))")
    assert done.stdout.split() == ["DataFrame", "1"], done.stderr


def test_options_are_checked(session):
    done = session(
        """
        import json
        from blastoff.errors import CommandError
        said = []
        for given in ({"polcy": "copy"}, {"policy": "sometimes"}, {"min_size": 1.5}, {"min_size": True}, {"place": "auto"}, {"run_directory": "/tmp"},
                      {"intercept": "preload"}, {"report": "/proc/none/report.json"}):
            try:
                blastoff.enable(**given)
            except CommandError as error:
                said.append(str(error))
        try:
            blastoff.stats("day")
        except CommandError as error:
            said.append(str(error))
        assert not blastoff.is_enabled()
        product()
        blastoff.enable(policy="copy", verify="report", min_size=150, summary=None)
        product()
        in_force = blastoff.session.attached.in_process().settings(True)
        import os
        chosen = [in_force[name] for name in ("policy", "verify", "min-size")]
        print(json.dumps([said, chosen, os.environ["BLASTOFF_MIN_SIZE"], "BLASTOFF_POLICY" in os.environ]))
        """
    )
    said, in_force, kept, leaked = printed(done)
    assert said == [
        "enable: unknown option polcy (did you mean policy?)",
        "invalid value policy=sometimes; accepted: auto, first-use, coherent or copy",
        "invalid value min_size=1.5; accepted: an integer, 0 or more",
        "enable: invalid value min_size=True; accepted: an integer, 0 or more",
        "enable: place takes effect before a program starts; give --place to blastoff run",
        "enable: run_directory is no option of a session; set BLASTOFF_RUN_DIRECTORY before",
        "enable: intercept is always patch in a session, since exported names come too late",
        "enable: no report can be written to /proc/none/report.json: /proc/none: No such file or directory",
        "stats: invalid value by=day; accepted: routine, line, region, reason",
    ]
    assert in_force == ["copy", "report", "150"]
    assert kept == "100" and not leaked


def test_a_bad_variable_is_refused(session):
    done = session("blastoff.enable()", BLASTOFF_POLICY="sometimes")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("invalid value BLASTOFF_POLICY=sometimes; accepted: auto, first-use, coherent or copy")


AGAIN = """
from blastoff.errors import CommandError
blastoff.enable(min_size=100)
product()
blastoff.enable(min_size="100")
try:
    blastoff.enable(min_size=500)
except CommandError as error:
    print(error)
assert blastoff.is_enabled()
"""
CONFLICT = (
    "enable: min_size is 100 and cannot become 500: a process reads its settings once, when Blastoff starts to work; start a new process for that"
)


def test_settings_in_force_stay(session):
    done = session(AGAIN)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [CONFLICT]


def test_sizes_are_compared_by_value(session):
    done = session("blastoff.enable(simulated_memory='1G')\nblastoff.enable(simulated_memory='1024M')\nprint(0)")
    assert printed(done) == 0


def test_under_blastoff_run(session):
    """Blastoff is on already, and the session uses this copy of the library."""
    done = session("assert blastoff.is_enabled()\n" + AGAIN + SHOW, preload=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [CONFLICT, '[["dgemm", 1, 1]]']
    assert done.stderr.count("calls  offloaded") == 1  # there is one summary


def test_a_library_that_is_missing(session, tmp_path):
    done = session("blastoff.enable()", BLASTOFF_LIBRARY=str(tmp_path / "none.so"))
    assert done.stderr.splitlines()[-1].endswith(f"libblastoff.so was not found at {tmp_path}/none.so; set BLASTOFF_LIBRARY to its path")
    (tmp_path / "text.so").write_text("no library")
    done = session("blastoff.enable()", BLASTOFF_LIBRARY=str(tmp_path / "text.so"))
    assert "text.so cannot be loaded into this process:" in done.stderr.splitlines()[-1]


def test_another_copy(session, tmp_path):
    copy = tmp_path / "copy" / "libblastoff.so"
    copy.parent.mkdir()
    copy.write_bytes(offload.LIBRARY.read_bytes())
    done = session("import ctypes\nctypes.CDLL(sys.argv[1])\nblastoff.enable()", str(copy))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(f"enable: another copy of Blastoff is active in this process: {copy}")


WORKERS = """
import multiprocessing, json
def count(_):
    product()
    return [blastoff.is_enabled(), sum(row["calls"] for row in blastoff.stats()), sum(row["offloaded"] for row in blastoff.stats())]
if __name__ == "__main__":
    blastoff.enable()
    product()
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        print(json.dumps([pool.map(count, [0]), blastoff.stats()[0]["offloaded"]]))
"""


def test_forked_workers_compute_on_the_cpu(session):
    assert printed(session(WORKERS, "fork")) == [[[True, 1, 0]], 1]


def test_spawned_workers_enable_it_themselves(session):
    assert printed(session(WORKERS, "spawn")) == [[[False, 0, 0]], 1]
    itself = WORKERS.replace("def count(_):", "def count(_):\n    blastoff.enable()")
    assert printed(session(itself, "spawn")) == [[[True, 1, 1]], 1]


SCRIPT = """
import sys, numpy
assert __name__ == "__main__" and sys.path[0] == {folder!r}, sys.path
import beside
a = numpy.ones((200, 200))
print(sys.argv, (a @ a)[0, 0], __file__)
sys.exit(int(sys.argv[1]))
"""


def test_a_script(blastoff, tmp_path):
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "beside.py").write_text("")
    (folder / "program.py").write_text(SCRIPT.format(folder=str(folder)))
    report = tmp_path / "report.json"
    done = blastoff("scripts/program.py", "3", "--policy=copy", env=SIMULATED | {"BLASTOFF_REPORT": str(report)})
    assert done.returncode == 3, done.stderr
    assert done.stdout == "['scripts/program.py', '3', '--policy=copy'] 200.0 scripts/program.py\n"
    assert "dgemm" in done.stderr and json.loads(report.read_text())["totals"]["offloaded"] == 1


LATE = """
import atexit, multiprocessing, pickle
class Kept:
    pass
def double(number):
    return 2 * number
if __name__ == "__main__":
    atexit.register(lambda: print(type(pickle.loads(pickle.dumps(Kept()))).__name__))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(double, [21]))
"""


def test_a_script_stays_the_main_module(blastoff, tmp_path):
    """Exit handlers, and workers that import it, need it."""
    (tmp_path / "late.py").write_text(LATE)
    done = blastoff("late.py", env=SIMULATED)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["[42]", "Kept"]


def test_a_script_that_is_missing_or_fails(blastoff, tmp_path):
    done = blastoff("none.py")
    assert done.returncode == 2 and done.stderr == "blastoff: none.py: no such script\n"
    (tmp_path / "fails.py").write_text("raise ValueError('as it is')")
    done = blastoff("fails.py", env=SIMULATED)
    assert done.returncode == 1 and done.stderr.splitlines()[-1] == "ValueError: as it is"


def test_commands_stay_commands(blastoff, tmp_path):
    (tmp_path / "report").write_text("raise SystemExit('a file is no command')")
    done = blastoff("report")
    assert done.returncode == 2 and "report: the following arguments are required: FILE" in done.stderr


def test_without_a_driver_no_device_was_late(monkeypatch, report):
    """Regions, notebooks and the plugin for pytest say that there is no GPU, and have no columns of a device."""
    report["refusals"] = [{"reason": processes.NOT_READY, "calls": 30}]
    report["call_sites"] = [{"routine": "dgemm", "python": "scf.py:4 in step", "refusals": report["refusals"], **report["totals"]}]
    for part in (report["routines"][0], report["call_sites"][0]):
        part |= {"offloaded": 0, "offloaded_flops": 0.0, "device_seconds": 0.0}
    for present in (True, False):
        monkeypatch.setattr(drivers, "is_present", lambda present=present: present)
        shown = text.describe("assembly", Counts.from_report(report, 2.0))
        assert (drivers.NO_GPU in shown) is not present and (processes.NOT_READY in shown) is present
        assert "device s" not in shown and "of wall time" in shown and "50 %" in shown
