"""The applications on a device of which a ballast leaves less free than their arrays take, or whose whole memory is smaller than their arrays."""

import time
from contextlib import ExitStack
from itertools import count
from typing import Any

from blastoff import quantities
from blastoff.lab.applications import experiment
from blastoff.lab.applications.application import Application
from blastoff.lab.failures import Cannot
from blastoff.lab.modes import EXPLICIT, MANAGED, MANAGED_PREFETCH, SYSTEM, SYSTEM_PREFETCH, Mode
from blastoff.lab.oversubscription import TOO_MUCH, put_ballast
from blastoff.lab.session import Session

RATIOS = (0.8, 1.5, 1.2)
"""Ratios of all arrays to free memory. The most informative come first, since there may not be time for all."""

MODES = (EXPLICIT, MANAGED, MANAGED_PREFETCH, SYSTEM, SYSTEM_PREFETCH)
NO_ROOM = "explicit device memory must hold all arrays"
NATURAL_SIMULATED = 7 << 20
"""Bytes of the simulated device's memory in a natural session: less than the small problems take."""

LARGEST = {"cuda": 512 << 20, "simulated": 4 << 20}
"""Bytes of the largest problem, by the kind of the device."""


def measure(session: Session, application: Application, mode: Mode, ratio: float) -> dict[str, Any]:
    """One application in one mode, where its arrays are `ratio` times as large as the free device memory, or as the whole memory if the session is
    `natural`: then without a ballast."""
    if reason := mode.why_not(session.device):
        raise Cannot(reason)
    if mode.kind == "managed" and ratio > 1 and not session.device.oversubscribes:
        raise Cannot(TOO_MUCH)
    with ExitStack() as stack:
        ballast = 0 if session.natural else put_ballast(session, int(application.size / ratio), stack)
        try:
            return experiment.measure(session, application, mode) | {"ratio": ratio, "ballast": ballast}
        except Cannot as reason:
            raise Cannot(NO_ROOM if mode is EXPLICIT and ratio > 1 else str(reason)) from reason


def largest_problems(session: Session) -> list[experiment.Maker]:
    """The largest problem of each application that the session and LARGEST allow (else the smallest), initialised by the CPU and by the GPU."""
    limit = min(session.largest, LARGEST[session.device.kind])
    found: dict[tuple[str, str], experiment.Maker] = {}
    for maker in experiment.problems(session):
        if maker.chunked or maker.size > session.largest or (session.only and maker.name not in session.only):
            continue
        if maker.size <= limit or (maker.name, maker.initialised_by) not in found:
            found[maker.name, maker.initialised_by] = maker
    return list(found.values())


def problems_beyond(session: Session) -> list[experiment.Maker]:
    """The smallest problem of each application that takes more than the whole device memory, initialised by the CPU and by the GPU."""
    found: dict[tuple[str, str], experiment.Maker] = {}
    for scale in count():
        wanted = [maker for maker in experiment.problems_of(scale) if not maker.chunked and (not session.only or maker.name in session.only)]
        for maker in wanted:
            if maker.size > session.device.memory()[1]:
                found.setdefault((maker.name, maker.initialised_by), maker)
        if len(found) == len(wanted):
            break
    return list(found.values())


def run(session: Session) -> None:
    session.results()
    end, makers = session.until, problems_beyond(session) if session.natural else largest_problems(session)
    for number, maker in enumerate(makers):
        now = time.perf_counter()
        session.until = now + (end - now) / (len(makers) - number)  # each has its share of the time that is left
        session.say(f"{maker.name}, {quantities.size(maker.size)}, oversubscribed")
        application = experiment.make(session, maker)
        if application is None:
            continue
        session.device.prepare(*application.kernels)
        ratios = (application.size / session.device.memory()[1],) if session.natural else RATIOS
        for ratio in ratios:
            for mode in filter(session.wants, MODES):
                what = f"{maker.name}, {application.size_text}, {mode.name}, {ratio:.3g} times the {'whole' if session.natural else 'free'} memory"
                key = ("oversubscribed", maker.name, maker.initialised_by, mode.name)
                session.attempt(
                    key, maker.size, what, lambda application=application, mode=mode, ratio=ratio: measure(session, application, mode, ratio)
                )
    session.results().rules = rules(session.results().rows)


def rules(rows: list[dict[str, Any]]) -> list[str]:
    """By application, how many times longer system and managed memory take where the arrays do not fit."""
    lines = []
    for problem in dict.fromkeys((row["application"], row["problem"]) for row in rows):
        parts = []
        for mode in dict.fromkeys(row["mode"] for row in rows):
            totals = {row["ratio"]: row["total"] for row in rows if (row["application"], row["problem"]) == problem and row["mode"] == mode}
            if len(totals) > 1 and max(totals) > 1 >= min(totals):
                parts.append(f"{mode} {totals[max(totals)] / totals[min(totals)]:.3g}x")
        if parts:
            lines.append(f"{', '.join(problem)}: {', '.join(parts)} as long with {max(RATIOS):g} times the free memory as with {min(RATIOS):g}")
    return lines
