"""The program as a child of the launcher. The launcher passes signals on to it, and ends in the way in which the program ended."""

import ctypes
import os
import resource
import signal
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NoReturn

from blastoff.errors import CANNOT_EXECUTE, NOT_FOUND, CommandError

IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
OWN = {signal.SIGCHLD, signal.SIGTTIN, signal.SIGTTOU, *IGNORED_BY_PYTHON}
"""Signals that the launcher gets because of its own actions."""
FORWARDED = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP} - OWN
HEARD = {signal.SIGCHLD, *FORWARDED}
PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4


def prctl(option: int, value: int | bytes) -> None:
    ctypes.CDLL(None).prctl(option, value if isinstance(value, bytes) else ctypes.c_ulong(value), 0, 0, 0)


def end_with(launcher: int) -> None:
    """To be called in a child of the launcher: the kernel kills the child when the launcher ends."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != launcher:
        os._exit(CANNOT_EXECUTE)


def _execute(program: Path, command: Sequence[str], environment: dict[str, str], parent: int) -> None:
    """Runs in the child. The program must end with its launcher, since otherwise it might outlive its job."""
    for ignored in IGNORED_BY_PYTHON:  # the program would inherit that they are ignored
        signal.signal(ignored, signal.SIG_DFL)
    end_with(parent)
    os.execve(program, list(command), environment)


def why_not_executed(program: Path, code: int) -> CommandError:
    """The message for an errno of execve."""
    missing = code == 2
    return CommandError(
        f"{program}: {os.strerror(code)}{' (its interpreter is missing)' if missing else ''}", NOT_FOUND if missing else CANNOT_EXECUTE
    )


def start(program: Path, command: Sequence[str], environment: dict[str, str]) -> int:
    """Starts the program and returns its process id. From now on, the launcher gets signals only in wait_for()."""
    failure, failed = os.pipe2(os.O_CLOEXEC)
    parent = os.getpid()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
    of_children = signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # if it were ignored, the child's status would be lost
    child = os.fork()
    if child == 0:
        code = 0
        try:
            signal.signal(signal.SIGCHLD, of_children)
            if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            _execute(program, command, environment, parent)
        except OSError as error:
            code = error.errno
        finally:
            os.write(failed, code.to_bytes(4, "little"))
            os._exit(CANNOT_EXECUTE)
    os.close(failed)
    code = int.from_bytes(os.read(failure, 4), "little")
    os.close(failure)
    if code:
        os.waitpid(child, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        raise why_not_executed(program, code)
    return child


def _open_files() -> Iterable[int]:
    """The numbers of open files; all possible numbers if /proc is hidden."""
    try:
        return [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        return range(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def let_go_of_files(kept: set[int]) -> None:
    """Closes the files that the program has inherited too, so that pipes and locks end when the program closes them."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in {0, 1} - kept:
        os.dup2(null, number)
    for number in _open_files():
        if number > 2 and number not in kept:
            try:
                os.close(number)
            except OSError:
                continue  # the directory that was just listed


def _stop_as(number: int) -> None:
    """Stops the launcher because the program was stopped, so that the shell sees its job stopped. Stops it only once, even if the same signal from
    the terminal is still pending."""
    signal.raise_signal(number)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)


def _state(child: int) -> int | None:
    """The program's wait status; None if it still runs."""
    while True:
        pid, status = os.waitpid(child, os.WNOHANG | os.WUNTRACED)
        if pid == 0:
            return None
        if not os.WIFSTOPPED(status):
            return status
        _stop_as(os.WSTOPSIG(status))


WasForAll = Callable[[int], bool | None]
"""Whether the signal of this number, which the launcher has just got, was sent to its whole process group; None if not known."""


def _got_anyway(child: int, heard: signal.struct_siginfo, was_for_all: WasForAll | None) -> bool:
    """Whether the program got the signal too, because it was sent to the whole process group and the program is still in the group. If that is
    not known, a signal from the kernel is taken to come from a terminal, which sends it to the group."""
    whole_group = was_for_all(heard.si_signo) if was_for_all is not None else None
    if whole_group is None:
        whole_group = heard.si_code > 0
    return whole_group and os.getpgid(child) == os.getpgrp()


def wait_for(child: int, was_for_all: WasForAll | None, idle: Callable[[], float] | None = None) -> int:
    """Waits for the program and returns its wait status. Passes on signals that were sent to the launcher only. Calls `idle` while nothing
    happens; it returns the seconds until its next call."""
    while True:
        heard = signal.sigwaitinfo(HEARD) if idle is None else signal.sigtimedwait(HEARD, idle())
        if heard is None:
            continue
        if heard.si_signo != signal.SIGCHLD:
            if not _got_anyway(child, heard, was_for_all):
                os.kill(child, heard.si_signo)
            continue
        status = _state(child)
        if status is not None:
            return status


def end_as(status: int) -> NoReturn:
    """Ends the launcher as the program has ended: with its exit status, or by its signal, without a second core file. Buffers must be empty. Ends
    at once, since an ordinary exit of Python would take some 10 ms longer."""
    if not os.WIFSIGNALED(status):
        os._exit(os.waitstatus_to_exitcode(status))
    number = os.WTERMSIG(status)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    prctl(PR_SET_DUMPABLE, 0)
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    os._exit(128 + number)
