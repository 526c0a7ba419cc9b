"""One thing that doctor has looked at."""

from dataclasses import dataclass
from enum import Enum


class State(str, Enum):
    """How a finding is to be taken."""

    GOOD = "ok"
    NOTE = "note"
    WARNING = "warn"
    BAD = "FAIL"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at, in words, and what to do about it."""

    subject: str
    state: State
    text: str
    advice: str = ""
