"""What jobs have used of a site's nodes, and what a GPU could take over."""

import pwd
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

WORTH_A_GPU = 0.05
"""A job gains from a GPU if that saves at least this share of its time."""
OUTSIDE = "outside BLAS, LAPACK and FFTW"

Key = tuple[str, str]
"""User and program."""


def owner(path: Path) -> str:
    """The user to whom a file belongs."""
    number = path.stat().st_uid
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


@dataclass
class Share:
    """What some jobs have used, in hours of nodes."""

    jobs: int = 0
    hours: float = 0.0
    in_calls: float = 0.0
    gain: float = 0.0
    """At most: hours in large calls that ran on the CPU."""
    gpu_hours: float = 0.0
    """Hours for which the jobs that gain would hold the GPU of each node, at best; and hours of GPUs that jobs have held."""
    on_device: float = 0.0
    """Hours of jobs that have used a device already."""
    obstacles: Counter[str] = field(default_factory=Counter)
    """Hours that no GPU takes over, by reason."""

    def __add__(self, other: "Share") -> "Share":
        sums = {name: getattr(self, name) + getattr(other, name) for name in ("jobs", "hours", "in_calls", "gain", "gpu_hours", "on_device")}
        return Share(**sums, obstacles=self.obstacles + other.obstacles)

    @property
    def obstacle(self) -> tuple[str, float]:
        """The largest obstacle, and its share of the hours; "" without one."""
        if not self.obstacles or not self.hours:
            return "", 0.0
        reason, hours = self.obstacles.most_common(1)[0]
        return reason, hours / self.hours
