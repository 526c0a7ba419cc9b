"""Each signal reaches the program under `blastoff run` once, whether it is sent to the launcher, to its process group or by a terminal."""

import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import mpi
import offload
import pytest
from command_rig import clean_environment

LAUNCHER = [sys.executable, "-m", "blastoff", "run", "--device=none"]
# A program that prints the signals that it gets. It does not stop at stop signals either.
LISTENER = """
import os, signal, sys
numbers = signal.valid_signals() - {signal.SIGCHLD}
signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
if "setsid" in sys.argv:
    os.setsid()
print("ready", os.getpid(), flush=True)
while True:
    heard = signal.sigwaitinfo(numbers).si_signo
    print("heard", heard, flush=True)
    if heard == signal.SIGRTMIN + 9:
        sys.exit(7)
"""
LAST = signal.SIGRTMIN + 9
"""The last signal to the launcher, which passes it on after all earlier ones."""


class Terminal:
    """A program on a new terminal. It leads the session and the foreground process group."""

    def __init__(self, directory: Path, command: Sequence[str], env: dict[str, str]) -> None:
        self.said = ""
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            for number in (signal.SIGINT, signal.SIGHUP):  # the process of the tests may ignore them
                signal.signal(number, signal.SIG_DFL)
            os.chdir(directory)
            os.execve(command[0], list(command), env)

    def read(self) -> bool:
        """Reads output. Returns False when no process has the terminal open any more."""
        with contextlib.suppress(OSError):
            piece = os.read(self.end, 4096)
            self.said += piece.decode(errors="replace").replace("\r", "")
            return bool(piece)
        return False

    def until(self, condition: Callable[[str], bool]) -> None:
        while not condition(self.said):
            assert self.read(), self.said

    def type(self, keys: bytes) -> None:
        os.write(self.end, keys)

    def status(self) -> int:
        """The program's exit status, after all of its output was read."""
        while self.read():
            pass
        os.close(self.end)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture(autouse=True)
def patience():
    """Makes the test fail if a signal does not arrive in time."""

    def give_up(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(240)  # mpirun is slow on a busy machine
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def environment(tmp_path) -> dict[str, str]:
    """An environment with a separate place for run directories."""
    (tmp_path / "place").mkdir()
    return clean_environment() | {"XDG_RUNTIME_DIR": str(tmp_path / "place")}


@pytest.fixture
def listener(tmp_path, environment):
    """Starts the listener under the launcher, in a new process group."""
    path = tmp_path / "listener.py"
    path.write_text(LISTENER)
    started = []

    def start(*words: str, before: Sequence[str] = ()) -> subprocess.Popen:
        command = [*before, *LAUNCHER, "--", sys.executable, str(path), *words]
        begun = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
        started.append(begun)
        assert begun.stdout.readline().startswith("ready")
        return begun

    yield start
    for one in started:
        one.stdout.close()
        if one.poll() is None:
            one.kill()
            one.wait()


def heard(begun: subprocess.Popen) -> list[int]:
    """The signals that the program gets until it ends."""
    begun.send_signal(LAST)
    lines = begun.stdout.read().splitlines()
    assert begun.wait() == 7
    numbers = [int(line.removeprefix("heard ")) for line in lines]
    assert numbers[-1] == LAST
    return numbers[:-1]


OF_THE_LAUNCHER = {signal.SIGCHLD, signal.SIGTTIN, signal.SIGTTOU, signal.SIGPIPE, signal.SIGXFSZ}
"""Signals that the launcher gets because of its own actions."""
NUMBERS = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP} - OF_THE_LAUNCHER - {LAST, signal.SIGCONT, signal.SIGTSTP})


def test_a_signal_at_once_after_the_start(environment):
    """The launcher gets it before it has prepared itself to wait."""
    done = subprocess.run([*LAUNCHER, "sh", "-c", "kill -TERM $PPID; exec sleep 60"], env=environment, stderr=subprocess.DEVNULL)
    assert done.returncode == -signal.SIGTERM


def test_signals_to_the_group_reach_the_program_once(listener):
    begun = listener()
    for number in NUMBERS:
        os.killpg(begun.pid, number)
        assert begun.stdout.readline() == f"heard {number}\n"
    assert heard(begun) == []


def test_signals_to_the_launcher_reach_the_program_once(listener):
    begun = listener()
    for number in NUMBERS:
        begun.send_signal(number)
        assert begun.stdout.readline() == f"heard {number}\n"
    assert heard(begun) == []


def test_signals_to_the_group_and_then_to_the_launcher(listener):
    """A signal to all does not hide a later signal to the launcher. In between, the launcher has got the first one."""
    begun = listener()
    for send, number in [(os.killpg, signal.SIGUSR1), (os.kill, LAST - 1), (os.kill, signal.SIGUSR1), (os.kill, LAST - 1)] * 3:
        send(begun.pid, number)
        assert begun.stdout.readline() == f"heard {int(number)}\n"
    assert heard(begun) == []


def test_a_batch_system_that_signals_each_process(listener):
    """All other processes get the signal before the launcher, so that the result does not depend on time."""
    begun = listener()
    listed = subprocess.run(["ps", "-o", "pid=", "--sort=-pid", "-s", str(begun.pid)], check=True, capture_output=True, text=True)
    for pid in listed.stdout.split():
        os.kill(int(pid), signal.SIGUSR2)
    assert heard(begun) == [signal.SIGUSR2]


def test_a_program_in_a_session_of_its_own(listener):
    """It does not get signals to the launcher's group, so the launcher passes them on."""
    begun = listener("setsid")
    os.killpg(begun.pid, signal.SIGTERM)
    assert heard(begun) == [signal.SIGTERM]


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGSTOP])
def test_without_a_witness_what_processes_send_is_handed_on(listener, end):
    """There is no witness if the machine allows no further process, or if somebody has killed it. One that is stopped does not answer."""
    begun = listener()
    listed = subprocess.run(["pgrep", "-P", str(begun.pid), "blastoff-signal"], check=True, capture_output=True, text=True)
    os.kill(int(listed.stdout), end)
    begun.terminate()
    assert heard(begun) == [signal.SIGTERM]


@pytest.mark.parametrize(("keys", "number"), [(b"\x03", signal.SIGINT), (b"\x1c", signal.SIGQUIT)])
def test_keys(tmp_path, environment, keys, number):
    path = tmp_path / "listener.py"
    path.write_text(LISTENER)
    terminal = Terminal(tmp_path, [*LAUNCHER, "--", sys.executable, str(path)], environment)
    terminal.until(lambda said: "ready" in said)
    terminal.type(keys)
    terminal.until(lambda said: "heard" in said)
    os.kill(terminal.pid, LAST)
    assert terminal.status() == 7
    assert re.findall(r"heard (\d+)", terminal.said) == [str(int(number)), str(LAST)]


def test_a_terminal_that_is_closed(tmp_path, environment):
    """The kernel sends a signal to the session's leader, which is the launcher, and to the foreground group when the leader ends."""
    path, told = tmp_path / "listener.py", tmp_path / "told"
    path.write_text(LISTENER.replace("while True", f"sys.stdout = open({str(told)!r}, 'w')\nwhile True"))
    terminal = Terminal(tmp_path, [*LAUNCHER, "--summary=never", "--", sys.executable, str(path)], environment)
    while not told.exists():
        time.sleep(0.01)
    os.close(terminal.end)
    while f"heard {int(signal.SIGHUP)}\n" not in told.read_text():
        time.sleep(0.01)
    os.kill(terminal.pid, LAST)
    assert os.waitstatus_to_exitcode(os.waitpid(terminal.pid, 0)[1]) == 7
    # The kernel also sends SIGCONT to the leader.
    assert told.read_text().split("heard ")[1:].count(f"{int(signal.SIGHUP)}\n") == 1


# Acts like a shell with a job: waits until the job is stopped, and continues it.
SHELL = """
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
_, status = os.waitpid(job, os.WUNTRACED)
os.tcsetpgrp(0, os.getpgrp())
print("stopped by", os.WSTOPSIG(status), flush=True)
os.tcsetpgrp(0, job)
os.killpg(job, signal.SIGCONT)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(job, 0)[1]))
"""
JOB = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCONT, signal.SIGRTMIN})
print("ready", os.getppid(), flush=True)
heard = [signal.sigwaitinfo({signal.SIGCONT, signal.SIGRTMIN}).si_signo]
print("continued", flush=True)
while signal.SIGRTMIN not in heard:
    heard.append(signal.sigwaitinfo({signal.SIGCONT, signal.SIGRTMIN}).si_signo)
sys.exit(40 + len(heard))
"""


def test_a_job_is_stopped_and_continued(tmp_path, environment):
    (tmp_path / "shell.py").write_text(SHELL)
    (tmp_path / "job.py").write_text(JOB)
    command = [sys.executable, str(tmp_path / "shell.py"), *LAUNCHER, "--summary=never", "--", sys.executable, str(tmp_path / "job.py")]
    terminal = Terminal(tmp_path, command, environment)
    terminal.until(lambda said: "ready" in said and said.endswith("\n"))
    launcher = int(re.search(r"ready (\d+)", terminal.said)[1])
    terminal.type(b"\x1a")
    terminal.until(lambda said: "continued" in said)
    assert f"stopped by {int(signal.SIGTSTP)}" in terminal.said
    os.kill(launcher, signal.SIGRTMIN)
    assert terminal.status() == 42


# Ranks under mpirun. A second signal within a second makes mpirun exit at once and leave its ranks behind.

RANK = textwrap.dedent("""
    import ctypes, os, time
    blas = ctypes.CDLL("libblas.so.3")
    n = 8
    matrices = [(ctypes.c_double * (n * n))() for _ in range(3)]
    size, one = ctypes.byref(ctypes.c_int(n)), ctypes.byref(ctypes.c_double(1))
    for _ in range(100):
        blas.dgemm_(b"N", b"N", size, size, size, one, matrices[0], size, matrices[1], size, one, matrices[2], size)
    open(f"ready-{os.getpid()}", "w").close()
    time.sleep(600)
""")
SENDERS = {
    "ctrl-c": lambda terminal: terminal.type(b"\x03"),
    "group": lambda terminal: os.killpg(terminal.pid, signal.SIGTERM),
    "launcher": lambda terminal: os.kill(terminal.pid, signal.SIGTERM),
}


def runs(pid: str) -> bool:
    """Whether the process exists and has not ended."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.parametrize("sender", SENDERS)
@pytest.mark.parametrize("kind", mpi.ALL, ids=lambda kind: kind.name)
def test_ranks_end_and_are_counted(tmp_path, environment, kind, sender):
    if not os.path.exists(f"/usr/bin/{kind.starter[0]}"):
        pytest.skip(f"{kind.starter[0]} is not installed (tools/install test)")
    script = tmp_path / "rank.py"
    script.write_text(RANK)
    launcher = [*LAUNCHER, "--summary=always", f"--report={tmp_path}/reports/", "--"]
    environment |= dict(kind.settings) | {"LD_LIBRARY_PATH": str(offload.REFERENCE_BLAS)}
    terminal = Terminal(tmp_path, [*launcher, *kind.ranks(2), sys.executable, str(script)], environment)
    while len(ranks := [path.name.removeprefix("ready-") for path in tmp_path.glob("ready-*")]) < 2:
        time.sleep(0.01)
    SENDERS[sender](terminal)
    terminal.status()
    assert not [pid for pid in ranks if runs(pid)], terminal.said
    assert not re.search("forcing|forcibly|already in progress", terminal.said), terminal.said
    [total] = [line for line in terminal.said.splitlines() if line.split()[:1] == ["dgemm"]]
    assert total.split()[1] == "200", terminal.said
    reports = [offload.read_report(path) for path in (tmp_path / "reports").glob("*.json")]
    assert sorted(report["totals"]["calls"] for report in reports if report["totals"]["calls"]) == [100, 100]
