#!/usr/bin/env python3
"""Compiles random C functions, patches each of them in a running program, and compares its results with those before patching.

    tests/fuzz/relocator/fuzz.py --harness build/tests/fuzz/libfuzz_relocator.so --count 500 --seed 7

Other architectures: --cc aarch64-linux-gnu-gcc --run-with "qemu-aarch64-static -L /usr/aarch64-linux-gnu" and a harness for them.
"""

import argparse
import collections
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from generate import Generator

HERE = Path(__file__).resolve().parent
COMMON = ["-w", "-rdynamic", f"-I{HERE}", "-fno-strict-aliasing"]
OPTIMISATION = ["-O0", "-O1", "-O2", "-O2", "-O3", "-Os"]
PLACES = [["-fPIE", "-pie"], ["-fno-pie", "-no-pie"], ["-fPIC", "-pie"], ["-fPIE", "-pie", "-fno-plt"]]
STACK = [[], [], ["-fstack-protector-all"], ["-fstack-protector-strong"], ["-fno-omit-frame-pointer"], ["-fstack-clash-protection"]]
LAYOUT = [[], [], ["-falign-functions=1"], ["-ffunction-sections"], ["-falign-functions=64"], ["-fpatchable-function-entry=3"]]
PROFILER = [[], [], [], ["-pg"]]
LANDING_PADS = {
    "x86_64": [[], ["-fcf-protection=full"], ["-fcf-protection=none"]],
    "aarch64": [[], ["-mbranch-protection=standard"], ["-mbranch-protection=bti"]],
}
PROCESSOR = {"x86_64": [[], [], ["-mfentry", "-pg"], ["-mcmodel=large"]], "aarch64": [[], ["-moutline-atomics"]]}


def options(choose: random.Random, compiler: str, architecture: str) -> list[str]:
    groups = [PLACES, STACK, LAYOUT, PROFILER, LANDING_PADS[architecture], PROCESSOR[architecture]]
    chosen = [choose.choice(OPTIMISATION), *(option for group in groups for option in choose.choice(group))]
    if "clang" in compiler:
        chosen = [option for option in chosen if option != "-mcmodel=large"]
    return chosen


def architecture_of(compiler: str) -> str:
    return subprocess.run([*shlex.split(compiler), "-dumpmachine"], capture_output=True, text=True, check=True).stdout.split("-")[0]


def build(source: Path, program: Path, compiler: str, flags: list[str], harness: Path) -> str:
    """Compiles a program. Returns "" or the compiler's message."""
    command = [*shlex.split(compiler), *COMMON, *flags, str(source), "-o", str(program), str(harness), f"-Wl,-rpath,{harness.parent}"]
    result = subprocess.run(command, capture_output=True, text=True)
    return "" if result.returncode == 0 else f"{shlex.join(command)}\n{result.stderr[:2000]}"


class Fuzzer:
    def __init__(self, arguments: argparse.Namespace, directory: Path):
        self.arguments = arguments
        self.directory = directory
        self.counts = collections.Counter()
        self.failures = 0

    def fail(self, seed: int, what: str) -> None:
        self.failures += 1
        print(f"seed {seed}: {what}", file=sys.stderr)

    def one(self, seed: int) -> None:
        choose = random.Random(seed)
        compiler = self.arguments.cc[seed % len(self.arguments.cc)]
        flags = options(choose, compiler, architecture_of(compiler))
        source, program = self.directory / f"{seed}.c", self.directory / f"{seed}"
        source.write_text(Generator(seed).program(self.arguments.functions))
        if error := build(source, program, compiler, flags, self.arguments.harness):
            return self.fail(seed, f"does not compile: {error}")
        result = subprocess.run([*shlex.split(self.arguments.run_with), str(program)], capture_output=True, text=True, cwd=self.directory)
        for line in result.stdout.splitlines():
            count, what = line.split(" ", 1)
            self.counts[what] += int(count)
        if result.returncode != 0:
            return self.fail(seed, f"{compiler} {' '.join(flags)}: status {result.returncode}: {result.stderr[:2000]}")
        if not self.arguments.keep:
            program.unlink()
            source.unlink()

    def share(self, distance: str) -> float:
        total = sum(count for what, count in self.counts.items() if what.startswith(distance))
        return self.counts[f"{distance}: patched"] / total if total else 0

    def report(self) -> int:
        for what, count in sorted(self.counts.items()):
            print(f"{count:8} {what}")
        for distance, min_share in (("near", self.arguments.min_near), ("far", self.arguments.min_far)):
            if (share := self.share(distance)) < min_share:
                self.failures += 1
                print(f"only {share:.0%} of the {distance} functions could be patched", file=sys.stderr)
        return int(self.failures > 0)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--harness", type=Path, required=True, help="libfuzz_relocator.so")
    parser.add_argument("--seed", type=int, default=1, help="of the first program")
    parser.add_argument("--count", type=int, default=100, help="programs")
    parser.add_argument("--functions", type=int, default=40, help="of each program")
    parser.add_argument("--cc", action="append", help="a compiler, may be given again (default: gcc, and clang where there is one)")
    parser.add_argument("--run-with", default="", help="an emulator")
    parser.add_argument("--keep", type=Path, help="where to leave the programs")
    parser.add_argument("--min-near", type=float, default=0.6, help="share of functions that must be patched")
    parser.add_argument("--min-far", type=float, default=0.4)
    arguments = parser.parse_args()
    arguments.harness = arguments.harness.resolve()
    arguments.cc = arguments.cc or [compiler for compiler in ("gcc", "clang") if shutil.which(compiler)]
    return arguments


def main() -> int:
    arguments = parse()
    with tempfile.TemporaryDirectory() as temporary:
        directory = (arguments.keep or Path(temporary)).resolve()
        directory.mkdir(parents=True, exist_ok=True)
        fuzzer = Fuzzer(arguments, directory)
        for seed in range(arguments.seed, arguments.seed + arguments.count):
            fuzzer.one(seed)
        return fuzzer.report()


if __name__ == "__main__":
    sys.exit(main())
