"""Code that the tests of `blastoff lab` share."""

from blastoff.lab.session import Session
from blastoff.lab.simulated import SimulatedDevice


def session_on(device, present: str = "daxpy", **options) -> Session:
    return Session(device, quick=True, present=present, **options)


class LosesLaunches(SimulatedDevice):
    """A simulated device that skips one launch of one kernel."""

    def __init__(self, name: str, number: int) -> None:
        super().__init__()
        self.victim, self.number = name, number

    def launch(self, kernel, *rest):
        if kernel.name == self.victim:
            self.number -= 1
            if self.number == -1:
                return
        super().launch(kernel, *rest)


def round_row(mode: str, inner: int, seconds: float, size: int = 1000) -> dict:
    return {"mode": mode, "inner": inner, "bytes": size, "total_later": seconds}
