"""Which signals the program got anyway, because they were sent to all processes of the launcher's group.

Nothing in a signal tells whether it was sent to one process or to its group. So there is a witness: a process in the group which nobody
knows, and which only listens. What it hears was sent to all: to the group by a terminal, a shell or a batch system, or to each process by a
batch system that goes through a list.
"""

import os
import select
import signal
import struct
import time
from typing import NoReturn

from blastoff.run import process

ASK = signal.SIGRTMAX
"""What the launcher sends to the witness. The kernel hands out lower numbers first: the answer comes after all that was heard before."""
ANSWER = 0
ENTRY = struct.Struct("=Bd")
"""A signal, and when it was heard (CLOCK_MONOTONIC)."""
LIST_SECONDS = 0.02
"""How long a sender takes from one process of its list to the next."""
LATEST_SECONDS = 5.0
"""The launcher hears a signal after this time at the latest, also where it imports on a busy machine. What was heard earlier was something else."""
ANSWER_SECONDS = 1.0
"""A witness that was stopped does not answer."""
NAME = b"blastoff-signal"
PR_SET_NAME = 15


def _listen(launcher: int, out: int) -> NoReturn:
    """In the witness. It ends with the launcher, and keeps no file that others wait for."""
    process.end_with(launcher)
    process.prctl(PR_SET_NAME, NAME)
    process.let_go_of_files({out})
    while True:
        heard = signal.sigwaitinfo(process.FORWARDED)
        asked = heard.si_signo == ASK and heard.si_pid == launcher
        os.write(out, ENTRY.pack(ANSWER if asked else heard.si_signo, time.monotonic()))


class Witness:
    """One for a launcher whose signals are blocked. `pipe`: the file by which it answers."""

    def __init__(self) -> None:
        launcher = os.getpid()
        self.pipe, out = os.pipe2(os.O_CLOEXEC)
        self._heard: dict[int, float] = {}
        self._pid = os.fork()
        if self._pid == 0:
            try:
                _listen(launcher, out)
            finally:
                os._exit(0)
        os.close(out)

    def heard(self, number: int) -> bool | None:
        """Whether this signal, which the launcher has just heard, was sent to the witness too; None if the witness does not answer."""
        for pause in (0, LIST_SECONDS):
            time.sleep(pause)
            if not self._ask():
                return None
            if time.monotonic() - self._heard.pop(number, -LATEST_SECONDS) < LATEST_SECONDS:
                signal.sigtimedwait({number}, 0)  # the same once more: the kernel joins what comes while one waits
                return True
        return False

    def _ask(self) -> bool:
        """Reads what the witness has heard until now."""
        os.kill(self._pid, ASK)
        while select.select([self.pipe], [], [], ANSWER_SECONDS)[0]:
            entry = os.read(self.pipe, ENTRY.size)
            if not entry:
                return False
            number, when = ENTRY.unpack(entry)
            if number == ANSWER:
                return True
            self._note(number, when)
        return False

    def _note(self, number: int, when: float) -> None:
        """A signal that stops processes undoes one that continues them, and conversely, where it has not been heard yet."""
        if number == signal.SIGCONT:
            self._heard.pop(signal.SIGTSTP, None)
        if number == signal.SIGTSTP:
            self._heard.pop(signal.SIGCONT, None)
        self._heard[number] = when

    def dismiss(self) -> None:
        """It ends while the launcher does other things."""
        os.kill(self._pid, signal.SIGKILL)

    def end(self) -> None:
        os.waitpid(self._pid, 0)


def call() -> Witness | None:
    """None where the machine has no room for one more process."""
    try:
        return Witness()
    except OSError:
        return None
