"""`blastoff calibrate`: measures this machine and writes its model."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from blastoff import blas_libraries, elf, library, options
from blastoff.calibrate import busy, children, model
from blastoff.errors import CommandError
from blastoff.parser import Parser

DEVICE_SECONDS, CPU_SECONDS = 50, 40
"""Seconds after which no further measurement of the device begins, and none of the CPU; the numbers of threads share the CPU's seconds."""


def parser() -> Parser:
    result = Parser(
        prog="blastoff calibrate",
        description="Measures the GPU, its link and the CPU's BLAS in less than two minutes, and writes a machine model. "
        "Decisions then start from this machine's own figures. Nothing else should run meanwhile.",
    )
    result.add_argument("--blas", metavar="PATH", help="the BLAS library to measure on the CPU, or none. Default: libblas.so.3, or NumPy's")
    result.add_argument("--threads", metavar="N[,N...]", help="numbers of threads for it. Default: 1 and all")
    result.add_argument("--device", metavar="NAME", help="the device to measure, as for blastoff run (BLASTOFF_DEVICE)")
    result.add_argument("--output", metavar="FILE", help="write the model there, and not to the user's cache")
    result.add_argument("--system", action="store_true", help=f"write the model for all users, to {model.SITE}")
    result.add_argument("--quick", action="store_true", help="a trial in seconds, with small sizes: its figures are written to --output only")
    return result


def blas_library(chosen: str | None) -> Path | None:
    """The library to measure; None for none."""
    if chosen is not None and chosen != "none" and not Path(chosen).is_file():
        raise CommandError(f"calibrate: {chosen} is not a file")
    path = "" if chosen == "none" else chosen or blas_libraries.usual_blas()
    if path and not elf.is_elf(Path(path)):
        raise CommandError(f"calibrate: {path} is not a library")
    return Path(path).resolve() if path else None


def thread_counts(text: str | None) -> list[int]:
    cores = len(os.sched_getaffinity(0))
    if text is None:
        return sorted({1, cores})
    words = text.split(",")
    if not all(word.isascii() and word.isdigit() and 0 < int(word) <= 4096 for word in words):
        raise CommandError(f"calibrate: invalid value --threads={text}; accepted: numbers from 1 to 4096, separated by commas")
    return sorted({int(word) for word in words})


def check_settings(device: str | None) -> None:
    """Checks --device and the BLASTOFF_ variables, which the measurements read."""
    table = options.read_table(library.find_library())
    if device is not None:
        options.check(next(option for option in table if option.name == "device"), device, "--device")
        os.environ["BLASTOFF_DEVICE"] = device
    options.check_environment(table, os.environ)


def run(arguments: Sequence[str]) -> int:
    from blastoff.calibrate import view

    parsed = parser().parse_args(arguments)
    blas, threads = blas_library(parsed.blas), thread_counts(parsed.threads)
    check_settings(parsed.device)
    if parsed.output is not None:
        model.check_place(Path(parsed.output))
    elif not parsed.quick:
        model.check_place(model.place("cuda", "model", parsed.system))
    others = busy.Others()
    device = children.measure_device(str(blas or ""), DEVICE_SECONDS, parsed.quick)
    measured = {count: children.measure_cpu(blas, count, CPU_SECONDS / len(threads), parsed.quick) for count in threads} if blas else {}
    measured = {count: of_threads for count, of_threads in measured.items() if of_threads["rates"]}
    result = model.assemble(device, blas, measured, parsed.quick)
    valid = model.validate(result)
    view.print_model(result)
    if warning := others.warning():
        print(f"blastoff: {warning}", file=sys.stderr)
    if not measured:
        print("\nThe CPU was not measured: there is no BLAS, or it has no known names. --blas PATH names one.")
    if not valid:
        print("\nThe model was not checked against its schema: the Python package jsonschema is missing.")
    if parsed.output is None and parsed.quick:
        return 0
    kind, gpu = device["device"]["kind"], device["device"]["name"]
    path = Path(parsed.output) if parsed.output is not None else model.place(kind, gpu, parsed.system)
    model.write(path, model.text_of(result))
    print(f"\nwritten to {path}")
    return 0
