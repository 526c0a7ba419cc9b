"""Results that stay on the device until somebody looks at them, or does something to their memory."""

import os
import pathlib
import re
import shutil
import signal
import subprocess

import offload
import pytest

LOOKS = ["thread", "write", "direct-write", "process", "memory-file", "fork", "small", "close", "exit"]
CHANGES = ["read", "direct-read", "move", "move-whole", "drop", "map", "lock", "protect", "part", "beside"]
UNUSUAL_LOOKS = ["other-process", "debugger", "other-memory-file", "io-uring", "io-uring-thread", "splice", "socket", "futex", "handler", "cancelled"]
ADVICE = ["collapse", "huge-pages", "populate", "page-out", "remove", "merge", "no-dump", "free", "no-fork", "wipe-on-fork"]
MAPPINGS = ["no-access", "unmap", "unmap-part", "map-part", "map-file", "drop-part", "userfaultfd", "lock-all", "lock-on-fault"]
MOVES = ["grow", "grow-in-place", "shrink", "move-and-keep", "move-and-use", "move-part"]
LIVES = ["clone", "clone-sharing", "programs", "grandchildren", "fork-beside-readers", "first-thread", "at-exit"]
ENDS = ["exit-beside-readers", "_exit", "exec"]


def skip_where_none_stays(outcome: offload.Outcome) -> None:
    """Pages can be filled for the kernel's own accesses where this user may handle its page faults."""
    if outcome.report["policy"]["tracker"] != "uffd" or (os.geteuid() != 0 and outcome.total("bytes_left") == 0):
        pytest.skip("no result stays here")


@pytest.mark.parametrize("case", LOOKS + CHANGES)
def test_whoever_looks_finds_what_was_computed(unharmed, tmp_path, case):
    outcome = unharmed("results", case, tmp_path / "result", settings=["--results=stay"], verify="off")
    skip_where_none_stays(outcome)
    assert outcome.total("offloaded") >= 6
    assert outcome.total("bytes_left") > 0


@pytest.mark.parametrize(
    ("program", "case"),
    [("results_read", case) for case in UNUSUAL_LOOKS]
    + [("results_memory", case) for case in ADVICE + MAPPINGS + MOVES]
    + [("results_life", case) for case in LIVES + ENDS],
)
def test_what_was_computed_is_there_whatever_happens(unharmed, tmp_path, program, case):
    launched = program == "results_life"
    outcome = unharmed(program, case, tmp_path / "result", settings=["--results=stay"], verify="off", timeout=20, launched=launched)
    if outcome.report:
        skip_where_none_stays(outcome)
        assert outcome.total("bytes_left") > 0


@pytest.fixture
def swap(tmp_path):
    """A file to which the kernel may swap."""
    file = tmp_path / "swap"
    if os.geteuid() != 0 or shutil.which("swapon") is None:
        pytest.skip("only root adds swap space")
    with file.open("wb") as created:
        os.posix_fallocate(created.fileno(), 0, 128 << 20)
    file.chmod(0o600)
    if any(subprocess.run([tool, file], capture_output=True).returncode != 0 for tool in ("mkswap", "swapon")):
        pytest.skip("this system takes no swap file here")
    yield
    subprocess.run(["swapoff", file], check=True)


@pytest.fixture
def memory_group():
    """A memory control group of the test's own."""
    version_2 = pathlib.Path("/sys/fs/cgroup/cgroup.controllers")
    parent = version_2.parent if version_2.is_file() else pathlib.Path("/sys/fs/cgroup/memory")
    group = parent / f"blastoff-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError:
        pytest.skip("this user makes no control groups")
    if not any((group / name).is_file() for name in ("memory.reclaim", "memory.force_empty")):
        group.rmdir()
        pytest.skip("the memory of control groups cannot be reclaimed here")
    yield group
    group.rmdir()


def test_results_and_operands_may_be_swapped_out(unharmed, swap):
    outcome = unharmed("results_swap", "advised", settings=["--results=stay"], verify="off", timeout=30)
    skip_where_none_stays(outcome)
    assert outcome.total("bytes_left") > 0


def test_the_memory_of_a_control_group_may_be_reclaimed_meanwhile(unharmed, swap, memory_group):
    outcome = unharmed("results_swap", "reclaimed", memory_group, settings=["--results=stay"], verify="off", timeout=30)
    skip_where_none_stays(outcome)
    assert outcome.total("bytes_left") > 0


def test_results_go_home_where_the_process_is_traced(unharmed, tmp_path):
    """The tracer would wait for a page while the thread that fills it waits for the tracer."""
    outcome = unharmed("results_read", "traced", tmp_path / "result", settings=["--results=stay"], verify="off", timeout=20)
    if outcome.report:
        assert (outcome.total("offloaded"), outcome.total("bytes_left")) == (12, 0)


@pytest.mark.parametrize("tracker", ["soft-dirty", "none"])
def test_results_go_home_where_no_missing_page_can_be_filled(unharmed, tmp_path, tracker):
    """As on older kernels: those have soft-dirty bits, or no tracking."""
    outcome = unharmed("results", "thread", tmp_path / "result", settings=["--results=stay", f"--tracker={tracker}"], verify="off")
    assert outcome.total("offloaded") == 6
    assert outcome.total("bytes_left") == 0
    assert outcome.total("bytes_from_device") >= 6 * 192 * 192 * 8
    assert outcome.report["policy"]["tracker"] in (tracker, "none")  # none: where this kernel lacks the bits, too
    assert "userfaultfd" in outcome.report["policy"]["results_reason"] or "mirrors" in outcome.report["policy"]["results_reason"]
    assert "results go home though they were to stay" in outcome.stderr


def test_what_was_computed_on_a_stack_goes_home(unharmed):
    """Frames of the program's allocator may lie there later, while the pager waits for its lock."""
    outcome = unharmed("results_stack", settings=["--results=stay"], verify="off", timeout=20)
    skip_where_none_stays(outcome)
    assert outcome.total("bytes_left") == 6 * 192 * 192 * 8  # those of the main program


def test_results_go_home_beside_another_allocator(unharmed):
    """It may touch a result while it holds the lock for which the pager, or the device's driver, waits."""
    outcome = unharmed("results_allocator", settings=["--results=stay"], verify="off", timeout=20)
    assert (outcome.total("offloaded"), outcome.total("bytes_left")) == (12, 0)
    if "uffd" in outcome.report["policy"]["tracker"]:
        assert outcome.report["policy"]["results_reason"] == "results_allocator allocates in this process"


@pytest.mark.parametrize("allocator", ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"])
@pytest.mark.parametrize("program", ["products_no_pie", "results"])
def test_results_go_home_beside_another_allocator_that_is_preloaded(unharmed, tmp_path, allocator, program):
    if not (offload.LIBRARIES / allocator).exists():
        pytest.skip(f"{allocator} is not installed")
    preloaded = offload.environment(LD_PRELOAD=str(offload.LIBRARIES / allocator))
    outcome = unharmed(program, "thread", tmp_path / "result", settings=["--results=stay"], verify="off", env=preloaded)
    assert outcome.total("bytes_left") == 0
    if "uffd" in outcome.report["policy"]["tracker"]:
        assert outcome.report["policy"]["results_reason"].startswith(allocator)


@pytest.mark.parametrize(("case", "ended_by"), [("abort", signal.SIGABRT), ("kill", signal.SIGKILL)])
def test_a_process_that_is_ended_by_a_signal_does_not_wait_for_pages(device, tmp_path, case, ended_by):
    """Also not while its core file is written. Nothing of the run is left; a process that was left would keep its output open."""
    directories = {name: tmp_path / name for name in ("TMPDIR", "XDG_RUNTIME_DIR")}
    for directory in directories.values():
        directory.mkdir()
    command = offload.program("results_life", case, tmp_path / "result")
    settings = ["--results=stay"]
    env = offload.environment(**{name: str(directory) for name, directory in directories.items()})
    outcome = offload.offloaded(command, device=device, settings=settings, verify="off", env=env, cwd=tmp_path, timeout=20)
    assert outcome.status in (-ended_by, 128 + ended_by)
    assert [path for directory in directories.values() for path in directory.iterdir()] == []


def test_a_log_says_that_a_result_is_on_the_device_alone(unharmed, tmp_path):
    log = tmp_path / "lines"
    skip_where_none_stays(unharmed("results", "thread", tmp_path / "result", settings=["--results=stay", f"--log=calls={log}"], verify="off"))
    first, *others = (line.partition(", matrices ")[2].split(", ")[-1] for line in log.read_text().splitlines())
    assert first == "host > device" and "device" in others


@pytest.mark.parametrize("results", ["home", "auto"])
def test_results_go_home_where_they_are_to(unharmed, device, tmp_path, results):
    outcome = unharmed("results", "thread", tmp_path / "result", settings=[f"--results={results}"], verify="off")
    if not device.startswith("cuda") or results == "home":
        assert outcome.total("bytes_left") == 0


def test_rows_are_exchanged_where_the_matrix_is(unharmed):
    """A matrix that stays does not come home for it, and no matrix is brought to the device for it."""
    outcome = unharmed("exchange", settings=["--results=stay", "--decide=size"], min_size=100, verify="off")
    skip_where_none_stays(outcome)
    exchanges = outcome.routine("dlaswp")
    assert (exchanges["calls"], exchanges["offloaded"]) == (4, 2)
    assert exchanges["bytes_to_device"] == exchanges["bytes_from_device"] == 0


def test_rows_are_exchanged_on_the_cpu_where_results_go_home(unharmed):
    outcome = unharmed("exchange", settings=["--results=home", "--decide=size"], min_size=100, verify="off")
    assert outcome.routine("dlaswp")["offloaded"] == 0
    assert outcome.routine("dgemm")["offloaded"] == 3


def test_matrices_are_copied_where_they_are(unharmed):
    outcome = unharmed("copies_stay", settings=["--results=stay", "--decide=size"], min_size=100, verify="off")
    skip_where_none_stays(outcome)
    copies = outcome.routine("dlacpy")
    assert (copies["calls"], copies["offloaded"]) == (5, 4)
    assert copies["bytes_to_device"] == copies["bytes_from_device"] == 0
    assert copies["bytes_left"] > 0


def test_norms_are_computed_where_their_matrix_is(unharmed):
    outcome = unharmed("norms_stay", settings=["--results=stay", "--decide=size"], min_size=100, verify="off")
    skip_where_none_stays(outcome)
    norms, triangles, never_there = (outcome.routine(name) for name in ("dlange", "dlansy", "slange"))
    assert (norms["calls"], norms["offloaded"]) == (4, 4)
    assert (triangles["calls"], triangles["offloaded"]) == (2, 2)
    assert norms["bytes_to_device"] == norms["bytes_from_device"] == triangles["bytes_to_device"] == triangles["bytes_from_device"] == 0
    assert (never_there["calls"], never_there["offloaded"]) == (1, 0)


@pytest.mark.parametrize(("routine", "results"), [("slange_", "home"), ("slange_", "stay"), ("slansy_", "stay")])
def test_a_norm_of_a_library_that_returns_doubles(unharmed, routine, results):
    """f2c lets REAL functions return a double, and only the library can compute what its caller expects."""
    outcome = unharmed("results_f2c", routine, settings=[f"--results={results}", f"--trust={routine}"], verify="off")
    assert outcome.total("offloaded") == 2


def test_transforms_stay(unharmed):
    if not pathlib.Path(offload.program("transforms_stay")[0]).exists():
        pytest.skip("FFTW is not installed")
    matrix = 64 * 96 * 16
    outcome = unharmed("transforms_stay", settings=["--results=stay"], verify="off", env=offload.environment(blas=offload.FFTW))
    skip_where_none_stays(outcome)
    transforms = outcome.routine("fftw_execute_dft")
    assert (transforms["calls"], transforms["offloaded"]) == (5, 5)
    assert (transforms["bytes_left"], transforms["bytes_from_device"]) == (5 * matrix, 0)
    assert outcome.report["policy"]["bytes_touched"] == 4 * matrix


@pytest.mark.parametrize("case", ["swap", "scal", "axpy", "copy"])
def test_vectors_in_what_has_stayed_are_changed_there(unharmed, case):
    """Rows of the result, whose pages need not come home for that."""
    outcome = unharmed("results_vectors", case, settings=["--results=stay"], verify="off")
    skip_where_none_stays(outcome)
    assert [(one["name"], one["calls"], one["offloaded"]) for one in outcome.report["routines"]] == [("dgemm", 12, 12), (f"d{case}", 1, 1)]
    assert outcome.routine(f"d{case}")["bytes_to_device"] == outcome.routine(f"d{case}")["bytes_from_device"] == 0


def test_a_product_of_vectors_is_added_to_what_has_stayed_on_the_cpu(unharmed):
    """The device gets what has changed."""
    outcome = unharmed("results_vectors", "rank-one", settings=["--results=stay"], verify="off")
    skip_where_none_stays(outcome)
    assert [(one["name"], one["offloaded"]) for one in outcome.report["routines"]] == [("dgemm", 12)]
    assert outcome.report["policy"]["bytes_touched"] > 0


MATRIX = 512 * 512 * 8


@pytest.fixture
def row_swaps(unharmed):
    def run(*arguments: str, verify: str = "off") -> offload.Outcome:
        outcome = unharmed("row_swaps", *arguments, settings=["--results=stay"], verify=verify)
        skip_where_none_stays(outcome)
        return outcome

    return run


def test_rows_may_be_exchanged_one_by_one_where_the_matrix_is(row_swaps):
    """The matrix comes home once, at the end, when the program looks at it. Before its first product, it was at home."""
    outcome = row_swaps()
    swaps = outcome.routine("dswap")
    assert swaps["offloaded"] == swaps["calls"] > 600
    assert swaps["bytes_to_device"] == swaps["bytes_from_device"] == 0
    assert outcome.report["policy"]["bytes_touched"] <= 1.1 * MATRIX


def test_rows_that_the_program_looks_at_in_between_are_exchanged_as_well(row_swaps):
    assert row_swaps("looks").routine("dswap")["offloaded"] > 0


def test_exchanges_of_rows_are_verified(row_swaps):
    outcome = row_swaps(verify="sample=50%")
    assert outcome.routine("dswap")["offloaded"] > 0
    assert outcome.report["verification"]["checked"] > 10
    assert outcome.report["verification"]["violations"] == 0, outcome.stderr


def test_rows_are_right_where_every_result_is_compared_at_home(row_swaps):
    row_swaps(verify="abort")


def test_vectors_that_are_computed_go_home_and_their_matrix_stays(unharmed):
    outcome = unharmed("results_vectors", "product", settings=["--results=stay"], verify="off")
    skip_where_none_stays(outcome)
    products, matrices = outcome.routine("dgemv"), outcome.routine("dgemm")
    assert (products["offloaded"], products["bytes_left"], products["bytes_from_device"]) == (2, 0, 2 * 192 * 8)
    assert (matrices["bytes_left"], matrices["bytes_from_device"]) == (12 * 192 * 192 * 8, 0)


def test_norms_are_no_look_at_a_product(unharmed, gpu):
    """Where results stay by themselves. As long as only a piece has stayed, the device has the matrix, too."""
    settings = ["--results=auto", "--decide=size"]
    outcome = unharmed("norms_unread", device="cuda", env=gpu, settings=settings, min_size=1, verify="off")
    skip_where_none_stays(outcome)
    products, norms = outcome.routine("dgemm"), outcome.routine("dlange")
    assert (norms["calls"], norms["offloaded"], norms["bytes_from_device"]) == (8, 8, 0)
    assert products["offloaded"] == 8
    assert products["bytes_left"] >= 4 * 0.99 * 1450 * 1450 * 8


def test_factorizations_stay_and_one_that_fails_is_made_on_the_cpu(unharmed):
    """The device had the only copy of what it has spoilt, and gives it back."""
    outcome = unharmed("factorizations_stay", settings=["--results=stay", "--decide=size"], min_size=100, verify="off")
    skip_where_none_stays(outcome)
    factorizations = outcome.routine("dpotrf")
    assert (factorizations["calls"], factorizations["offloaded"]) == (2, 1)
    assert factorizations["bytes_to_device"] == 0
    assert factorizations["bytes_left"] > 0


def test_the_summary_tells_how_much_stayed(device, tmp_path):
    command = offload.program("results", "thread", tmp_path / "result")
    outcome = offload.offloaded(command, device=device, settings=["--results=stay", "--summary=always"], verify="off")
    skip_where_none_stays(outcome)
    policy = outcome.report["policy"]
    matrix = 192 * 192 * 8
    assert policy["bytes_touched"] == policy["bytes_brought_home"] == matrix  # each page is brought once
    assert policy["bytes_overwritten"] == 5 * matrix
    told = "1.77 MB of results stayed on the device: 1.47 MB never came home (1.47 MB were computed anew there), "
    assert f"{told}295 kB came home when the program touched them, 0 for other reasons" in outcome.stderr


def test_results_that_nobody_looks_at_are_told_apart_from_those_that_are_read(device, tmp_path):
    """At the end of the process they come home. A process that is killed has told in time."""
    command = offload.program("results_life", "unread", tmp_path / "result")
    outcome = offload.offloaded(command, device=device, settings=["--results=stay"], verify="off")
    skip_where_none_stays(outcome)
    assert outcome.report["policy"]["bytes_touched"] == 0
    assert outcome.report["policy"]["bytes_brought_home"] == 192 * 192 * 8
    command = offload.program("results_life", "kill-unread", tmp_path / "result")
    killed = offload.offloaded(command, device=device, settings=["--results=stay", "--summary=always"], verify="off")
    assert "never came home (1.47 MB were computed anew there), 0 came home" in killed.stderr


def test_decisions_are_explained_with_what_stays(device, tmp_path):
    command = offload.program("results", "thread", tmp_path / "result")
    outcome = offload.offloaded(command, device=device, settings=["--results=stay", "--explain"], verify="off")
    skip_where_none_stays(outcome)
    assert [(one["routine"], one["calls"], one["bytes_left"]) for one in outcome.report["decisions"]] == [("dgemm", 6, 192 * 192 * 8)]


@pytest.mark.parametrize("fault", ["execute:6", "to-host:1"])
def test_a_device_that_is_lost_with_the_only_copy_ends_the_program(unharmed, tmp_path, fault):
    """In a call, or when somebody looks."""
    skip_where_none_stays(unharmed("results", "thread", tmp_path / "result", settings=["--results=stay"], verify="off"))
    outcome = offload.offloaded(
        offload.program("results", "thread", tmp_path / "result"),
        policy="first-use",
        device="simulated",
        verify="off",
        settings=["--results=stay", f"--simulated-fault={fault}:lost"],
    )
    assert outcome.status == 70
    lost = re.search(r"the only copy of what had stayed on the device: 192 x 192 of dgemm at 0x[0-9a-f]+ \((\d+) kB\); the", outcome.stderr)
    assert lost and abs(int(lost[1]) - 192 * 192 * 8 / 1000) < 2, outcome.stderr
