"""While a slow device is being opened, the CPU computes, and the program may end or fork at any moment."""

import json
import pathlib
import sys
import time

import offload
import pytest

NOT_OPEN = "the device was not ready yet"
ENDS = ["return", "exit", "_exit", "thread"]


UNTIL_OFFLOADED = {"OPENING_OFFLOADED": "6"}
"""The program computes until this number of products has run on the device, however long the machine takes."""


@pytest.fixture
def opening(gpu):
    """Runs the program for a given number of seconds, unless the settings give another end, with a driver that takes 0.4 s to start."""

    def run(seconds: float, how: str = "return", **settings: str) -> offload.Outcome:
        env = gpu | {"FAKE_GPU_INIT_MS": "400", "BLASTOFF_START": "background"} | settings
        outcome = offload.offloaded(offload.program("opening", seconds, how), device="cuda", verify="off", env=env)
        assert (outcome.status, outcome.stdout) == (0, "products: right\nchildren: right\n"), outcome.stderr
        return outcome

    return run


def opening_of(outcome: offload.Outcome) -> dict:
    return outcome.report["device"]["opening"]


def test_a_short_program_never_opens_it(opening):
    outcome = opening(0.02)
    assert outcome.total("offloaded") == 0
    assert outcome.refused() == {NOT_OPEN: outcome.total("calls")}
    assert outcome.report["device"]["state"] == "not started"
    assert outcome.report["device"]["opening"] is None


def test_the_cpu_computes_until_it_is_open(opening):
    outcome = opening(2, **UNTIL_OFFLOADED)
    assert outcome.total("offloaded") > 0
    assert set(outcome.refused()) == {NOT_OPEN}
    routine = outcome.routine("dgemm")
    assert routine["cpu_seconds"] > 0.26, "so much before it is opened"
    opening = outcome.report["device"]["opening"]
    assert opening["after_seconds"] > 0.2
    assert opening["seconds"] > 0.4


THREADS = """
import ctypes, threading, time
blas = ctypes.CDLL("libblas.so.3")
n, threads, seconds = 100, 24, 0.15
one, zero = ctypes.byref(ctypes.c_double(1)), ctypes.byref(ctypes.c_double(0))
size = ctypes.byref(ctypes.c_int(n))
begin = time.perf_counter()
def work():
    a, b, c = ((ctypes.c_double * (n * n))() for _ in range(3))
    while time.perf_counter() < begin + seconds:
        blas.dgemm_(b"N", b"N", size, size, size, one, a, size, b, size, zero, c, size)
team = [threading.Thread(target=work) for _ in range(threads)]
for each in team: each.start()
for each in team: each.join()
time.sleep(1)  # a device that is being opened would be open then
"""


def test_what_threads_compute_at_once_counts_as_wall_time(gpu):
    env = gpu | {"FAKE_GPU_INIT_MS": "400", "BLASTOFF_START": "background"}
    outcome = offload.offloaded([sys.executable, "-c", THREADS], device="cuda", min_size=50, verify="off", env=env)
    assert outcome.routine("dgemm")["cpu_seconds"] > 0.4, "the sum over threads"
    assert outcome.refused() == {NOT_OPEN: outcome.total("calls")}
    assert outcome.report["device"]["state"] == "not started"


def test_the_first_call_opens_it_where_that_is_asked_for(opening):
    outcome = opening(0.5, BLASTOFF_START="now")
    assert outcome.total("offloaded") == outcome.total("calls")


@pytest.fixture
def again(opening, tmp_path):
    """Runs the program like opening(), as a command whose earlier runs count."""

    def run(seconds: float, how: str = "return", **settings: str) -> offload.Outcome:
        return opening(seconds, how, **{"XDG_CACHE_HOME": str(tmp_path / "cache"), "BLASTOFF_HISTORY": "on"} | settings)

    return run


def test_the_next_run_of_a_command_that_gained_begins_with_the_first_call_to_open_it(again, tmp_path):
    # The products on this device take the CPU's time, so a gain has to be reported by hand.
    again(2, **UNTIL_OFFLOADED)
    (kept,) = (tmp_path / "cache").rglob("*.json")
    times = json.loads(kept.read_text())
    assert times["flops"] > 0
    assert times["cpu_seconds"] > 0.25
    assert times["opening_seconds"] > 0.4
    kept.write_text(json.dumps(times | {"cpu_seconds": 1000 * times["flops"], "opening_seconds": 0.4, "lead_seconds": 0}))
    outcome = again(2, OPENING_AFTER="wait", **UNTIL_OFFLOADED)
    assert opening_of(outcome)["foreseen"]
    assert "device: open" in outcome.stderr, "one call was enough"
    assert outcome.refused() == {NOT_OPEN: 1}, "that one is the CPU's"
    assert not opening_of(again(2, BLASTOFF_HISTORY="off", **UNTIL_OFFLOADED))["foreseen"]


class Ahead:
    """A command that pauses for 0.3 s before its first product, and whose products then gain from the device."""

    def __init__(self, gpu: dict[str, str], cache: pathlib.Path):
        self.cache = cache
        self.env = gpu | {"FAKE_GPU_INIT_MS": "400", "BLASTOFF_START": "background", "XDG_CACHE_HOME": str(cache), "BLASTOFF_HISTORY": "on"}
        self.run("pause")
        self.promise()

    @property
    def file(self) -> pathlib.Path:
        (file,) = self.cache.rglob("runs/*.json")
        return file

    @property
    def kept(self) -> dict:
        return json.loads(self.file.read_text())

    def keep(self, **times: float) -> None:
        self.file.write_text(json.dumps(self.kept | times))

    def promise(self) -> None:
        """Tells the next run that the device gains much, whatever this machine's times are."""
        self.keep(cpu_seconds=1000 * self.kept["flops"], opening_seconds=0.4)

    def run(self, before: str, **settings: str) -> offload.Outcome:
        env = self.env | {"OPENING_BEFORE": before} | settings
        return offload.offloaded(offload.program("opening", 0.3, "return"), device="cuda", verify="off", env=env)

    def is_next(self) -> bool:
        """Whether the next run opens the device before its first call. That call waits until the device is open."""
        self.promise()
        return "device: open" in self.run("wait").stderr

    def is_not_next(self) -> bool:
        """Whether the next run does not; waits for longer than opening takes."""
        return "device: closed" in self.run("wait", OPENING_PATIENCE="0.8").stderr


@pytest.fixture
def ahead(gpu, tmp_path):
    return Ahead(gpu, tmp_path / "cache")


def test_the_next_run_opens_it_beside_what_comes_before_the_first_call(ahead):
    assert ahead.kept["lead_seconds"] > 0.3
    whole = [ahead.kept[f"{how}_device"][1] for how in ("with", "without")]
    assert max(whole) > 0.6, "the pause and the products"
    outcome = ahead.run("wait")
    assert set(outcome.refused()) <= {NOT_OPEN}
    assert opening_of(outcome)["foreseen"]
    assert "device: open" in outcome.stderr
    assert ahead.is_next(), "and so does the one after it"


def test_a_gain_less_than_the_price_is_enough_where_much_comes_before(ahead):
    ahead.keep(cpu_seconds=0.35, device_seconds=0)
    assert ahead.is_next(), "0.3 of 0.4 s pass beside a pause"


def test_nothing_is_opened_ahead_for_children(ahead):
    outcome = ahead.run("fork")
    assert (outcome.status, outcome.stdout.splitlines()[0]) == (0, "child: right")
    assert ahead.kept["lead_seconds"] == 0
    assert ahead.is_not_next()
    assert ahead.is_next(), "that one did not fork"


def test_nothing_is_opened_ahead_where_the_program_sets_variables(ahead):
    outcome = ahead.run("set a variable")
    assert "count from its next run on" in outcome.stderr
    assert ahead.kept["lead_seconds"] == 0
    outcome = ahead.run("set a variable")
    assert "count from its next run on" not in outcome.stderr
    opening = opening_of(outcome)
    assert opening is None or opening["after_seconds"] > 0.3, "not ahead; the program may end before it is open"


@pytest.mark.parametrize("end", ["end", "be killed"])
def test_nothing_is_opened_ahead_after_a_run_that_never_came_to_a_call(ahead, end):
    outcome = ahead.run(end)
    assert outcome.status == (0 if end == "end" else -9)
    assert ahead.is_not_next()
    assert ahead.is_next()


def test_nothing_is_opened_ahead_a_long_time_before(ahead):
    ahead.keep(lead_seconds=6)
    assert ahead.is_not_next()


def test_nothing_is_opened_ahead_where_history_is_off(ahead):
    """It is not opened at the first call either. Whether the program then computes for long enough is decided by the clock."""
    outcome = ahead.run("pause", BLASTOFF_HISTORY="off")
    assert NOT_OPEN in outcome.refused()
    assert opening_of(outcome) is None or not opening_of(outcome)["foreseen"]


def test_the_next_run_of_a_command_that_lost_opens_it_only_if_it_computes_for_longer(again, tmp_path):
    again(2, **UNTIL_OFFLOADED)
    (kept,) = (tmp_path / "cache").rglob("*.json")
    times = json.loads(kept.read_text())

    def after_a_run_of(seconds: float, **settings: str) -> offload.Outcome:
        kept.write_text(json.dumps(times | {"cpu_seconds": seconds, "device_seconds": seconds}))
        return again(2, **settings)

    assert after_a_run_of(1000).total("offloaded") == 0
    longer = after_a_run_of(0.4, **UNTIL_OFFLOADED)
    assert longer.total("offloaded") > 0
    assert longer.routine("dgemm")["cpu_seconds"] > 0.5, "a quarter more than before"
    assert not opening_of(longer)["foreseen"]


def test_a_run_tells_the_next_one_which_matrices_are_used_once(again, tmp_path):
    """The program makes its matrices anew for each product, and frees them."""

    def tell() -> dict:
        again(2, how="fresh", **UNTIL_OFFLOADED)
        (kept,) = (tmp_path / "cache").rglob("*.json")
        return json.loads(kept.read_text())

    # A run records nothing where another of its threads uses the matrices at that moment.
    times = next(times for times in (tell() for _ in range(5)) if times["used_once"])
    (kept,) = (tmp_path / "cache").rglob("*.json")
    kept.write_text(json.dumps(times | {"cpu_seconds": 1000 * times["flops"], "opening_seconds": 0.4}))
    outcome = again(2, how="fresh", **UNTIL_OFFLOADED)
    assert outcome.report["device"]["opening"]["foreseen"]
    assert json.loads(kept.read_text())["used_once"], "the next one finds the same"
    assert outcome.total("offloaded") > 0


def test_another_command_starts_anew(again, tmp_path):
    again(0.5)
    again(0.6)
    assert len(list((tmp_path / "cache").rglob("runs/*.json"))) == 2


def test_a_library_opens_it_while_it_is_loaded_itself(gpu):
    """Its constructor runs under the lock of the dynamic linker, which the device's libraries need."""
    load = f"import ctypes; ctypes.CDLL({str(offload.PROGRAMS / 'libconstructor.so')!r})"
    outcome = offload.offloaded([sys.executable, "-c", load], device="cuda", verify="off", env=gpu | {"FAKE_GPU_CONTEXT_MS": "200"}, timeout=60)
    assert (outcome.status, outcome.stdout) == (0, "product: right\n"), outcome.stderr
    assert outcome.total("offloaded") == 1


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("seconds", [0.28, 0.4, 0.6, 0.7])
def test_the_program_may_end_meanwhile(opening, how, seconds):
    """The driver needs its own state until the last thread that used it is gone."""
    start = time.monotonic()
    opening(seconds, how, FAKE_GPU_THREAD_END_MS="100")
    assert time.monotonic() - start < 30


def test_the_program_may_fork_meanwhile(opening):
    outcome = opening(4, "fork", **UNTIL_OFFLOADED)
    assert NOT_OPEN in outcome.refused()
    assert outcome.total("offloaded") > 0
