"""The program as a child of the launcher: signals go through, and it ends the launcher as it ended itself."""

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
"""What the launcher gets for what it does itself."""
FORWARDED = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP} - OWN
HEARD = {signal.SIGCHLD, *FORWARDED}
PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4


def prctl(option: int, value: int | bytes) -> None:
    ctypes.CDLL(None).prctl(option, value if isinstance(value, bytes) else ctypes.c_ulong(value), 0, 0, 0)


def end_with(launcher: int) -> None:
    """In a child of the launcher: if that is killed, the child is too."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != launcher:
        os._exit(CANNOT_EXECUTE)


def _execute(program: Path, command: Sequence[str], environment: dict[str, str], parent: int) -> None:
    """In the child. A program that outlived its launcher would outlive its job."""
    for ignored in IGNORED_BY_PYTHON:  # the program would inherit that
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
    """The process id of the program. From now on the launcher only hears of signals by wait_for()."""
    failure, failed = os.pipe2(os.O_CLOEXEC)
    parent = os.getpid()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
    of_children = signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, the child's status is lost
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
    """Those that may be, where /proc is hidden."""
    try:
        return [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        return range(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def let_go_of_files(kept: set[int]) -> None:
    """Closes what the program has inherited too, so that pipes and locks end when the program closes them."""
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
    """The program has been stopped: the shell must see that its job has. Once, also where the terminal's own signal still waits."""
    signal.raise_signal(number)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)


def _state(child: int) -> int | None:
    """The wait status if the program has ended."""
    while True:
        pid, status = os.waitpid(child, os.WNOHANG | os.WUNTRACED)
        if pid == 0:
            return None
        if not os.WIFSTOPPED(status):
            return status
        _stop_as(os.WSTOPSIG(status))


WasForAll = Callable[[int], bool | None]
"""Whether the signal of that number, which the launcher has just heard, was sent to its whole group; None if that is not known."""


def _got_anyway(child: int, heard: signal.struct_siginfo, was_for_all: WasForAll | None) -> bool:
    """Whether the program got the signal as well: it was sent to the whole group, and the program has not left that. Where it is not known,
    what comes from the kernel is taken to come from a terminal."""
    whole_group = was_for_all(heard.si_signo) if was_for_all is not None else None
    if whole_group is None:
        whole_group = heard.si_code > 0
    return whole_group and os.getpgid(child) == os.getpgrp()


def wait_for(child: int, was_for_all: WasForAll | None, idle: Callable[[], float] | None = None) -> int:
    """The wait status of the program. Signals that were sent to the launcher alone are sent on. `idle` is called while nothing happens, and
    says in how many seconds it wants to be called again."""
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
    """Ends the launcher as the program has ended: with its exit status, or by the signal, without a second core file. Nothing is left in
    buffers. It ends at once: Python would take its modules apart first, for some 10 ms."""
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
