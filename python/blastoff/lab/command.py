"""`blastoff lab`: measures how memory behaves between the CPU and the GPU of this machine."""

import json
import math
import os
import re
import sys
import time
from argparse import ArgumentTypeError
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from blastoff.errors import CommandError
from blastoff.parser import Parser

SHARES = {"daxpy": 0.3, "pages": 0.1, "stream": 0.05, "oversubscription": 0.1, "applications": 0.35, "oversubscribed": 0.15}
"""The sets of experiments, and the share of the time that each gets in `all`."""

KEPT = 0.08
KEPT_SECONDS = 8.0
"""Time that is kept for writing the results: a share of all seconds, and at least KEPT_SECONDS or half of a short time."""

FORMAT = 1
WRONG_RESULT = 3
INTERRUPTED = 130
LARGEST_COUNT = 1000
"""Most launches per touch, and most rounds."""


def run(arguments: Sequence[str]) -> int:
    parser = Parser(
        prog="blastoff lab",
        description="Measures how memory behaves between the CPU and the GPU of this machine, and writes JSON, a page with figures and the findings.",
        epilog="Exit status: 0; 1 if the device cannot be used; 3 if a kernel's result was wrong; 130 if interrupted: what was measured is written.",
    )
    parser.add_argument("set", metavar="SET", nargs="?", default="all", choices=[*SHARES, "all"], help=f"{', '.join(SHARES)} or all (the default)")
    parser.add_argument("--device", default="cuda", help="cuda (the default), cuda:N or simulated")
    parser.add_argument("--quick", action="store_true", help="few and small cases: some seconds")
    parser.add_argument("--minutes", type=minutes, default=10.0, help="the time for everything; larger cases are left out (default 10)")
    parser.add_argument("--output", metavar="DIRECTORY", default="blastoff-lab", help="where the results go (default blastoff-lab)")
    parser.add_argument("--inner", metavar="LIST", type=counts, default=(), help="daxpy: launches per touch, as 1-10 or 1,4,16")
    parser.add_argument("--outer", metavar="N", type=count, default=0, help="daxpy: rounds of a touch and its launches")
    parser.add_argument("--only", metavar="LIST", type=names, default=(), help="applications, oversubscribed: those to measure, as hotspot,srad")
    parser.add_argument(
        "--memory", metavar="LIST", type=names, default=(), help="daxpy, applications, oversubscribed: kinds of memory, as system,managed_prefetch"
    )
    parser.add_argument("--oversubscribe-managed", action="store_true", help="let managed memory exceed the GPU's free memory: this can stall a GPU")
    parser.add_argument("--natural", action="store_true", help="oversubscribed: problems that exceed the whole GPU memory, instead of a ballast")
    parser.add_argument("--from", metavar="FILE", dest="earlier", help="measure nothing; show and write the results that a lab.json has")
    parser.add_argument("--cuda-path", metavar="DIRECTORY", default="", help="a CUDA installation, for NVRTC")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parsed = parser.parse_args(arguments)
    if (parsed.inner or parsed.outer) and parsed.set not in ("daxpy", "all"):
        raise CommandError(f"lab: --inner and --outer are of daxpy, not of {parsed.set}")
    if parsed.only and parsed.set not in ("applications", "oversubscribed", "all"):
        raise CommandError(f"lab: --only is of applications and oversubscribed, not of {parsed.set}")
    if parsed.memory and parsed.set not in ("daxpy", "applications", "oversubscribed", "all"):
        raise CommandError(f"lab: --memory is of daxpy, applications and oversubscribed, not of {parsed.set}")
    if parsed.oversubscribe_managed and parsed.set not in ("oversubscription", "oversubscribed", "all"):
        raise CommandError(f"lab: --oversubscribe-managed is of oversubscription and oversubscribed, not of {parsed.set}")
    if parsed.natural and parsed.set != "oversubscribed":
        raise CommandError(f"lab: --natural is of oversubscribed, not of {parsed.set}")
    if parsed.earlier:
        return show_again(Path(parsed.earlier), parsed)
    try:
        import numpy  # noqa: F401
    except ImportError as error:
        raise CommandError("lab: NumPy is missing (pip install numpy)") from error
    try:
        return measure(parsed)
    except KeyboardInterrupt:
        print("blastoff lab: interrupted", file=sys.stderr)
        return INTERRUPTED


def minutes(text: str) -> float:
    """A number above 0, as an option's value."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise ArgumentTypeError(f"{text!r} is no number above 0")
    return number


def count(text: str) -> int:
    """A whole number from 1 to LARGEST_COUNT, as an option's value."""
    if not re.fullmatch(r"[0-9]{1,6}", text) or not 1 <= int(text) <= LARGEST_COUNT:
        raise ArgumentTypeError(f"{text!r} is no whole number from 1 to {LARGEST_COUNT}")
    return int(text)


def counts(text: str) -> tuple[int, ...]:
    """Whole numbers and ranges of them: 1-10 or 1,4,16."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        low, high = count(first), count(last or first)
        if low > high:
            raise ArgumentTypeError(f"{part}: the range is empty")
        found.update(range(low, high + 1))
    return tuple(sorted(found))


def names(text: str) -> tuple[str, ...]:
    """Names, in which _ may stand for a blank."""
    return tuple(part.strip().replace("_", " ") for part in text.split(","))


def check_names(option: str, given: Sequence[str], known: Sequence[str]) -> None:
    if unknown := [name for name in given if name not in known]:
        accepted = ", ".join(name.replace(" ", "_") for name in known)
        raise CommandError(f"lab: {option}: unknown {unknown[0]!r}; accepted: {accepted}")


def show_again(file: Path, parsed: Any) -> int:
    """Shows and writes earlier results, for example to make the page on a machine with the packages that it needs."""
    from blastoff.lab.view import output

    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}") from error
    except ValueError as error:
        raise CommandError(f"{file}: not a result of blastoff lab: not JSON ({error})") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise CommandError(f"{file}: not a result of blastoff lab in format {FORMAT}")
    output.make_directory(Path(parsed.output))
    output.write(document, Path(parsed.output))
    output.show(document, parsed.json)
    return 0


def open_device(name: str, cuda_path: str, natural: bool) -> Any:
    """The device that --device names."""
    if name == "simulated":
        from blastoff.lab.applications.oversubscribed import NATURAL_SIMULATED
        from blastoff.lab.simulated import SimulatedDevice

        return SimulatedDevice(NATURAL_SIMULATED) if natural else SimulatedDevice()
    numbered = re.fullmatch(r"cuda(?::(\d+))?", name)
    if numbered is None:
        raise CommandError(f"lab: unknown device {name}; cuda, cuda:N and simulated are known")
    from blastoff.lab.cuda.compiler import Compiler
    from blastoff.lab.cuda.device import CudaDevice
    from blastoff.lab.cuda.driver import Driver

    if cuda_path:
        os.environ["BLASTOFF_CUDA_PATH"] = cuda_path  # for the libraries that the block interface opens
    driver = Driver()
    return CudaDevice(int(numbered[1] or 0), driver, Compiler(cuda_path))


def run_sets(session: Any, names: Sequence[str], end: float) -> None:
    """Runs the sets; each gets its share of the time that is left."""
    from blastoff.lab import daxpy, oversubscription, pages, stream
    from blastoff.lab.applications import experiment, oversubscribed

    runs = {"daxpy": daxpy.run, "pages": pages.run, "stream": stream.run, "oversubscription": oversubscription.run}
    runs |= {"applications": experiment.run, "oversubscribed": oversubscribed.run}
    for number, name in enumerate(names):
        now = time.perf_counter()
        session.until = now + (end - now) * SHARES[name] / sum(SHARES[later] for later in names[number:])
        session.present = name
        runs[name](session)


def repeated(parsed: Any) -> str:
    """The command that measures the same again."""
    listed = {"inner": parsed.inner, "only": parsed.only, "memory": parsed.memory}
    values = {"device": parsed.device, "minutes": f"{parsed.minutes:g}", "outer": str(parsed.outer or "")}
    values |= {name: ",".join(str(value).replace(" ", "_") for value in found) for name, found in listed.items()}
    switches = [f"--{name.replace('_', '-')}" for name in ("quick", "oversubscribe_managed", "natural") if getattr(parsed, name)]
    return " ".join(["blastoff lab", parsed.set, *switches, *(f"--{name} {value}" for name, value in values.items() if value)])


def kept(seconds: float) -> float:
    """Seconds of the time that are kept for writing the results."""
    return max(KEPT * seconds, min(KEPT_SECONDS, seconds / 2))


def measure(parsed: Any) -> int:
    """Measures, writes and prints; the exit status."""
    from blastoff.lab import modes, results
    from blastoff.lab.applications import experiment
    from blastoff.lab.failures import DeviceFailed
    from blastoff.lab.session import Session
    from blastoff.lab.view import output

    began = time.perf_counter()
    check_names("--only", parsed.only, experiment.NAMES)
    check_names("--memory", parsed.memory, [mode.name for mode in (*modes.MODES, modes.SYSTEM_BASE, modes.SYSTEM_HUGE, modes.CHUNKS)])
    output.make_directory(Path(parsed.output))
    names = list(SHARES) if parsed.set == "all" else [parsed.set]
    with open_device(parsed.device, parsed.cuda_path, parsed.natural) as device:
        session = Session(device, quick=parsed.quick, say=lambda line: print(f"blastoff lab: {line}", file=sys.stderr))
        device.oversubscribes = device.oversubscribes or parsed.oversubscribe_managed
        session.inners, session.outer, session.only, session.memory = parsed.inner, parsed.outer, parsed.only, parsed.memory
        session.natural = parsed.natural
        problem, status = "", 0
        try:
            run_sets(session, names, began + 60 * parsed.minutes - kept(60 * parsed.minutes))
        except DeviceFailed as error:
            problem, status = str(error), 1
        except KeyboardInterrupt:
            problem, status = "interrupted", INTERRUPTED
        described = results.describe_device(device)
    document = {
        "format": FORMAT,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "request": {"set": parsed.set, "quick": parsed.quick, "minutes": parsed.minutes, "command": repeated(parsed)},
        "seconds": time.perf_counter() - began,
        "problem": problem,
        "device": described,
        **results.describe(session),
    }
    output.write(document, Path(parsed.output))
    output.show(document, parsed.json)
    if problem and status == 1:
        raise CommandError(problem, status)
    return status or (WRONG_RESULT if document["wrong"] else 0)
