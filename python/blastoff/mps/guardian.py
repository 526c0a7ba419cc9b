"""A private MPS daemon, and its guardian: the process that starts the daemon and ends it when its last member has ended in any way.

A member holds a shared lock on a file. The guardian waits for the exclusive lock, which it gets when no member is left: the kernel
also releases the locks of processes that were killed.
"""

import contextlib
import ctypes
import fcntl
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from blastoff.errors import CommandError
from blastoff.mps import daemon

if TYPE_CHECKING:
    from subprocess import Popen

MEMBERS, PIPES, LOGS = "members", "pipe", "log"
PLACES = ("/tmp", "/var/tmp")
"""Folders for the daemon's sockets. A socket's path has at most 107 bytes, so the temporary directory of a batch job may be too deep."""
START_SECONDS, END_SECONDS, POLL_SECONDS = 10.0, 10.0, 0.02
STARTED = b"started"
PR_SET_PDEATHSIG, PR_SET_NAME = 1, 15


@dataclass(frozen=True)
class Member:
    """A process for which the daemon runs as long as the process keeps the descriptor open."""

    directory: Path
    lock: int

    @property
    def pipes(self) -> Path:
        """The directory in which programs find the daemon."""
        return self.directory / PIPES


def join(directory: Path) -> Member | None:
    """Makes this process a member of the daemon in this directory; None if the daemon is ending or has ended."""
    try:
        lock = os.open(directory / MEMBERS, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    with contextlib.suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(lock), (directory / MEMBERS).stat()):
            return Member(directory, lock)
    os.close(lock)
    return None


def start(environment: Mapping[str, str]) -> Member:
    """Starts a daemon for processes with this environment, with this process as the first member. Raises CommandError if that fails."""
    directory = _new_directory()
    (directory / MEMBERS).touch(mode=0o600)
    member = join(directory)
    assert member is not None, "nobody else knows that directory"
    told, tells = os.pipe2(os.O_CLOEXEC)
    _fork_guardian(directory, environment, tells)
    os.close(tells)
    answer = b"".join(iter(lambda: os.read(told, 4096), b""))
    os.close(told)
    if answer == STARTED:
        return member
    os.close(member.lock)
    shutil.rmtree(directory, ignore_errors=True)
    raise CommandError(answer.decode(errors="replace") or "the process that starts it has ended")


def _new_directory() -> Path:
    for place in PLACES:
        with contextlib.suppress(OSError):
            return Path(tempfile.mkdtemp(prefix="blastoff-mps-", dir=place))
    raise CommandError(f"no directory can be made in {' or '.join(PLACES)}")


def _fork_guardian(directory: Path, environment: Mapping[str, str], tells: int) -> None:
    """Forks twice, so that the guardian is nobody's child to wait for."""
    middle = os.fork()
    if middle == 0:
        if os.fork() == 0:
            _be_guardian(directory, environment, tells)
        os._exit(0)
    with contextlib.suppress(ChildProcessError):  # where SIGCHLD is ignored
        os.waitpid(middle, 0)


def _be_guardian(directory: Path, environment: Mapping[str, str], tells: int) -> NoReturn:
    """Runs the guardian, detached from the terminal and from inherited files, so that nobody waits for it at the end of a pipe."""
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        ctypes.CDLL(None).prctl(PR_SET_NAME, b"blastoff-mps", 0, 0, 0)
        _let_go_of_files(tells)
        _guard(directory, environment, tells)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.write(tells, str(error).encode())
    finally:
        os._exit(0)


def _let_go_of_files(kept: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != kept:
            with contextlib.suppress(OSError):  # the directory that was just listed
                os.close(int(name))


def _guard(directory: Path, environment: Mapping[str, str], tells: int) -> None:
    """Starts the daemon, waits until the last member has ended, and ends the daemon."""
    # In a program, CUDA_VISIBLE_DEVICES counts among the GPUs that the daemon sees, so the daemon must see all of them.
    own = {name: value for name, value in environment.items() if name not in ("CUDA_VISIBLE_DEVICES", "LD_PRELOAD")}
    own |= {daemon.PIPES: str(directory / PIPES), daemon.LOGS: str(directory / LOGS)}
    for name in (PIPES, LOGS):
        (directory / name).mkdir(mode=0o700)
    running = _start_daemon(own)
    try:
        _wait_for_start(running, directory)
        os.write(tells, STARTED)
        os.close(tells)
        with (directory / MEMBERS).open(encoding="utf-8") as members:
            fcntl.flock(members, fcntl.LOCK_EX)
            (directory / MEMBERS).unlink()
    finally:
        _end_daemon(running, own)
        shutil.rmtree(directory, ignore_errors=True)


def _start_daemon(environment: Mapping[str, str]) -> "Popen[bytes]":
    """Starts the daemon in its own process group, which its servers join. The kernel ends it if the guardian is killed."""
    import subprocess

    control = daemon.control_program(environment)
    if control is None:
        raise CommandError(f"{daemon.CONTROL} is not installed")
    with (Path(environment[daemon.LOGS]) / "output").open("wb") as output:
        return subprocess.Popen(
            [control, "-f"],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0),
        )


def _wait_for_start(running: "Popen[bytes]", directory: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not daemon.answers(directory / PIPES):
        if running.poll() is not None:
            said = (directory / LOGS / "output").read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise CommandError(said[-1] if said else f"{daemon.CONTROL} ended with status {running.returncode}")
        if time.monotonic() > deadline:
            raise CommandError(f"{daemon.CONTROL} does not answer after {START_SECONDS:.0f} s")
        time.sleep(POLL_SECONDS)


def _end_daemon(running: "Popen[bytes]", environment: Mapping[str, str]) -> None:
    """Ends the daemon by its own command or, if that does not work, by signals to it and its servers."""
    import subprocess

    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        if running.poll() is None:
            subprocess.run([daemon.CONTROL], input=b"quit\n", env=dict(environment), timeout=END_SECONDS, check=False)
            running.wait(END_SECONDS)
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            os.killpg(running.pid, number)
            running.wait(1)
