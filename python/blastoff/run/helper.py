"""The Python process beside a launcher (src/launcher/helper.h), which does what needs Python: it reads energy counters, samples memory, folds the
counters of ended processes, and sums up. Launcher and helper send each other texts over standard input."""

import contextlib
import os
import select
import socket
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from blastoff import library, options
from blastoff.job import runs
from blastoff.run import keeping, watch
from blastoff.run.command import say

if TYPE_CHECKING:
    from blastoff.mps import guardian
    from blastoff.run import energy, nodes

PREPARED = ["blastoff.job.reading", "blastoff.run.nodes", "blastoff.run.view", "blastoff.job.metering"]
"""The modules that report() needs."""

SAMPLED = ["blastoff.sampling.results", "blastoff.sampling.findings", "blastoff.sampling.view.words"]
"""Those that it needs where memory was sampled."""


class Launcher:
    """The connection to the launcher."""

    def __init__(self) -> None:
        self.connection = socket.socket(fileno=0)
        self.texts: list[str] = []
        self._rest = b""

    def tell(self, text: str) -> None:
        self.connection.sendall(os.fsencode(text) + b"\0")

    def hear(self, seconds: float | None = None) -> list[str] | None:
        """The words of the launcher's next text; None if it says nothing for so long. Ends this process if the launcher is gone."""
        while b"\0" not in self._rest:
            if seconds is not None and not select.select([self.connection], [], [], seconds)[0]:
                return None
            piece = self.connection.recv(4096)
            if not piece:
                os._exit(0)
            self._rest += piece
        text, self._rest = self._rest.split(b"\0", 1)
        return os.fsdecode(text).split(" ", 1)


class Helper:
    """What the launcher has said of its run. `lock`: a locked file that shows that this launcher reads energy counters; -1 if it does not."""

    def __init__(self, directory: str, job: str, elsewhere: bool, lock: int, command: Sequence[str]) -> None:
        self.launcher = Launcher()
        self.directory, self.job, self.elsewhere, self.lock, self.command = Path(directory), job, elsewhere, lock, command
        self.environment = dict(os.environ)
        self.is_rank = library.global_rank(library.find_library()) >= 0
        self.meeting: nodes.Meeting | nodes.Apart | None = None
        self.service: guardian.Member | None = None
        self.child = 0
        self.meter: energy.Watch | None = None
        interval = options.milliseconds(self.environment.get("BLASTOFF_MEMORY", ""))
        self.sampling = watch.Watch(interval / 1000, self.directory, say) if interval else None

    def prepare(self) -> None:
        """Does what must be done before the program starts, if the launcher waits for it."""
        if self.environment.get("BLASTOFF_MPS") == "auto":
            from blastoff.run import sharing

            before = dict(self.environment)
            self.service = sharing.arrange(self.environment, self.command, self.directory, say)
            for name, value in self.environment.items():
                if before.get(name) != value:
                    self.launcher.tell(f"{name}={value}")
        if self.is_rank:
            from blastoff.run import nodes

            self.meeting = nodes.meet(self.environment, self.directory, self.job, self.elsewhere)
        self.launcher.tell("ready")

    def begin(self, child: int, started_at: float) -> None:
        """Begins to sample and to meter, since the program has started."""
        self.child = child
        if self.sampling is not None:
            self.sampling.begin(child, started_at)
        if self.environment.get("BLASTOFF_ENERGY") != "off":
            with contextlib.suppress(Exception):
                from blastoff.run import energy

                self.meter = energy.Watch(self.directory, self.environment, self.lock)
                self.meter.start()

    def meanwhile(self) -> Callable[[], float]:
        """What to do while the program runs: a function that returns the seconds until its next call. Imports nothing in advance if ranks have
        launchers of their own: the ranks use all cores, and usually another launcher reports."""
        chosen = [keeping.Keeper(self.directory, self.environment, self.child).idle]
        if self.sampling is not None:
            chosen.append(self.sampling.idle)
        if not self.is_rank:
            chosen.append(Preparation(self.sampling).idle)
        return lambda: min(idle() for idle in chosen)

    def end(self) -> None:
        """Ends metering and sampling, since the program has ended. The launcher that reports finds what they have written."""
        if self.meter is not None:
            self.meter.finish()
        if self.sampling is not None:
            self.sampling.finish(self.command, self.environment["BLASTOFF_RUN"])

    def report(self, known: dict[int, str]) -> None:
        """Reports all processes of the run, of which no launcher is left. `known`: how processes have ended, by process id."""
        from blastoff.run import command, nodes

        if self.is_rank and self.meeting is None:
            self.meeting = nodes.meet(self.environment, self.directory, self.job, self.elsewhere)
        command.report(self.directory, known, self.command, self.environment, self.meeting or nodes.Apart())

    def serve(self) -> None:
        """Does what the launcher says, until it says nothing more."""
        known: dict[int, str] = {}
        idle: Callable[[], float] | None = None
        while True:
            heard = self.launcher.hear(idle() if idle is not None else None)
            match heard:
                case None:
                    continue
                case ["prepare"]:
                    self.prepare()
                case ["started", text]:
                    child, moment = text.split()
                    self.begin(int(child), float(moment))
                    idle = self.meanwhile()
                case ["ended", text]:
                    idle = None
                    child, status = map(int, text.split())
                    known[child] = runs.how_it_ended(status)
                    self.end()
                    self.launcher.tell("finished")
                case ["withdraw"]:
                    if self.meeting is not None:
                        self.meeting.withdraw()
                case ["last", directory]:
                    self.directory = Path(directory)
                    self.report(known)
                    self.launcher.tell("reported")


class Preparation:
    """Imports the modules that report() needs while the program runs, one at a time, since the launcher may wait for an answer, and a sample may be
    due. `sampling`: the watch beside it, whose costs these imports are not."""

    def __init__(self, sampling: watch.Watch | None) -> None:
        self.sampling = sampling
        self.left = PREPARED + (SAMPLED if sampling is not None else [])

    def idle(self) -> float:
        """Imports the next module, and returns the seconds until the next call."""
        if not self.left:
            return watch.FOREVER
        before = time.thread_time()
        with contextlib.suppress(Exception):  # report() says what is wrong
            import_module(self.left.pop(0))
        if self.sampling is not None:
            self.sampling.leave_out(time.thread_time() - before)
        return 0


def main() -> int:
    directory, job, elsewhere, lock, *command = sys.argv[1:]
    helper = Helper(directory, job, bool(elsewhere), int(lock), command)
    try:
        helper.serve()
    except Exception as error:  # whatever it is, the exit status stays the program's
        say(f"blastoff: this run cannot be summed up: {error}; its counters are in {helper.directory}\n")
    os._exit(0)  # at once, since an ordinary exit of Python would take some 10 ms longer
