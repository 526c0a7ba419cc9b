"""A finding of doctor."""

from dataclasses import dataclass
from enum import Enum


class State(str, Enum):
    """How good or bad a finding is."""

    GOOD = "ok"
    NOTE = "note"
    WARNING = "warn"
    BAD = "FAIL"


@dataclass(frozen=True)
class Finding:
    """What was checked, what was found, and what to do about it."""

    subject: str
    state: State
    text: str
    advice: str = ""
