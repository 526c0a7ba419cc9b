"""Which signals the program got without the launcher, because they were sent to all processes of the launcher's group.

Nothing in a signal tells whether it was sent to one process or to the whole group. So the launcher starts a witness: a process in the group
that nobody knows and that only listens. A signal that the witness gets was sent to all: by a terminal, a shell or a batch system to the
group, or by a batch system to each process in a list.
"""

import os
import select
import signal
import struct
import time
from typing import NoReturn

from blastoff.run import process

ASK = signal.SIGRTMAX
"""The signal with which the launcher asks the witness. The kernel delivers lower numbers first, so the answer follows all earlier signals."""
ANSWER = 0
ENTRY = struct.Struct("=Bd")
"""A signal's number, and when the witness got it (CLOCK_MONOTONIC)."""
LIST_SECONDS = 0.02
"""Seconds that a sender may take from one process in its list to the next."""
LATEST_SECONDS = 5.0
"""Most seconds until the launcher gets a signal, even if it is importing on a busy machine. An older signal at the witness was another one."""
ANSWER_SECONDS = 0.1
"""Seconds to wait for an answer before the launcher looks whether the witness is stopped. On a busy machine, an answer may take longer."""
NAME = b"blastoff-signal"
PR_SET_NAME = 15


def _listen(launcher: int, out: int) -> NoReturn:
    """Runs in the witness. The witness ends with the launcher, and keeps no file open on which others wait."""
    process.end_with(launcher)
    process.prctl(PR_SET_NAME, NAME)
    process.let_go_of_files({out})
    while True:
        heard = signal.sigwaitinfo(process.FORWARDED)
        asked = heard.si_signo == ASK and heard.si_pid == launcher
        os.write(out, ENTRY.pack(ANSWER if asked else heard.si_signo, time.monotonic()))


class Witness:
    """The witness of this launcher, whose signals must be blocked. `pipe`: the file from which its answers are read."""

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
        """Whether this signal, which the launcher has just got, was sent to the witness too; None if the witness does not answer."""
        for pause in (0, LIST_SECONDS):
            time.sleep(pause)
            if not self._ask():
                return None
            if time.monotonic() - self._heard.pop(number, -LATEST_SECONDS) < LATEST_SECONDS:
                signal.sigtimedwait({number}, 0)  # takes the same signal if it came again, as the witness may have got both as one
                return True
        return False

    def _ask(self) -> bool:
        """Reads which signals the witness has got until now. Returns False if it does not answer."""
        os.kill(self._pid, ASK)
        latest = time.monotonic() + LATEST_SECONDS
        while time.monotonic() < latest:
            if not select.select([self.pipe], [], [], ANSWER_SECONDS)[0]:
                if self._is_stopped():
                    return False
                continue
            entry = os.read(self.pipe, ENTRY.size)
            if not entry:
                return False
            number, when = ENTRY.unpack(entry)
            if number == ANSWER:
                return True
            self._note(number, when)
        return False

    def _is_stopped(self) -> bool:
        return os.waitid(os.P_PID, self._pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None

    def _note(self, number: int, when: float) -> None:
        """Notes a signal. A signal that stops processes cancels an earlier one that continues them, and conversely, as in the kernel."""
        if number == signal.SIGCONT:
            self._heard.pop(signal.SIGTSTP, None)
        if number == signal.SIGTSTP:
            self._heard.pop(signal.SIGCONT, None)
        self._heard[number] = when

    def dismiss(self) -> None:
        """Kills the witness, which ends while the launcher does other things."""
        os.kill(self._pid, signal.SIGKILL)

    def end(self) -> None:
        os.waitpid(self._pid, 0)


def call() -> Witness | None:
    """Starts a witness; None if the machine allows no further process."""
    try:
        return Witness()
    except OSError:
        return None
