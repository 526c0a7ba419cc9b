"""The measured cases. A case is one program with its arguments, which runs in several modes."""

from __future__ import annotations

import dataclasses

ALL = ("cpu", "cpu-own", "cpu-wheel", "nvblas", "nvblas-autopin", "copy", "first-use")
FAST_CPU = tuple(mode for mode in ALL if mode != "cpu")  # for slow cases, which use the distribution's library only without a wheel


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    program: str
    arguments: tuple[str, ...]
    modes: tuple[str, ...] = ALL
    processes: dict[str, int] = dataclasses.field(default_factory=dict)  # how often the program runs, by mode; once if not given
    mode_arguments: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)  # further arguments, by mode

    def command(self, folder: str, mode: str) -> list[str]:
        options = [argument for argument in self.arguments if not _is_operation(argument)]
        operations = [argument for argument in self.arguments if _is_operation(argument)]
        return [f"{folder}/{self.program}", *options, *self.mode_arguments.get(mode, ()), *operations]

    def operations(self) -> list[str]:
        return [argument for argument in self.arguments if _is_operation(argument)]


def _is_operation(argument: str) -> bool:
    return "," in argument


def gemm(kind: str, n: int) -> str:
    return f"{kind}gemm,N,N,{n},{n},{n}"


@dataclasses.dataclass(frozen=True)
class Suite:
    """All cases in one size, by name, and the operations in the rows of the table."""

    parsec: str
    square: str
    level3: tuple[str, ...]
    threads: str
    small: str
    thread_count: int
    cases: tuple[Case, ...]

    def limit_operations(self) -> list[str]:
        return [self.parsec, self.square, *self.level3]


def suite(quick: bool) -> Suite:
    """The cases of the speed targets. `quick`: the same cases in sizes that take seconds without a GPU."""
    parsec = "dgemm,T,N,32,600,5000" if quick else "dgemm,T,N,32,2400,93536"
    large, half = (500, 300) if quick else (4000, 2000)
    square = gemm("d", large)
    level3 = tuple(operation for n in (half, large) for operation in (gemm("z", n), f"ztrsm,{n},{n}", f"dsyrk,{n},{n}", f"dtrsm,{n},{n}"))
    threads, count = gemm("d", 300 if quick else 1000), 4 if quick else 8
    seconds = ("--seconds", "0.3" if quick else "3")
    start = ("--start-device", "600" if quick else "1000")
    cases = (
        Case("parsec", "repeat_calls", ("--calls", "60", *seconds, *start, parsec), processes={"first-use": 3}),
        Case("square", "repeat_calls", ("--calls", "40", *seconds, *start, square)),
        Case(
            "rewrite",
            "repeat_calls",
            ("--calls", "20", "--rewrite-a", *start, square),
            modes=("cpu-own", "cpu-wheel", "copy", "first-use"),
            processes={"copy": 2, "first-use": 2},
            mode_arguments=dict.fromkeys(("cpu", "cpu-own", "cpu-wheel"), ("--calls", "3")),
        ),
        Case("level3", "repeat_calls", ("--calls", "20", "--seconds", "0.2" if quick else "1", *level3), modes=FAST_CPU),
        Case("one-thread", "threads_gemm", ("--threads", "1", "--calls", "500", *seconds, threads), modes=FAST_CPU),
        Case("threads", "threads_gemm", ("--threads", str(count), "--calls", "500", *seconds, threads), modes=FAST_CPU),
    )
    return Suite(parsec, square, level3, threads, "dgemm,N,N,8,8,8", count, cases)


def modes_for(case: Case, available: set[str]) -> list[str]:
    """The case's modes that are available here. The distribution's CPU library replaces a missing wheel."""
    wanted = ["cpu" if mode == "cpu-wheel" and mode not in available else mode for mode in case.modes]
    return [mode for mode in dict.fromkeys(wanted) if mode in available]


def flops(operation: str) -> float:
    """Floating-point operations (LAPACK Working Note 41); operations on complex numbers count four times."""
    name, *fields = operation.split(",")
    sizes = [int(field) for field in fields if field.isdigit()]
    kind, scale = name[1:], 4 if name[0] in "cz" else 1
    if kind == "gemm":
        m, n, k = sizes
        return scale * 2.0 * m * n * k
    if kind == "syrk":
        n, k = sizes
        return scale * 1.0 * n * (n + 1) * k
    m, n = sizes
    return scale * 1.0 * m * m * n


def result_bytes(operation: str) -> int:
    """Bytes that the routine writes: all of C or B, for syrk its triangle."""
    name, *fields = operation.split(",")
    sizes = [int(field) for field in fields if field.isdigit()]
    element = {"s": 4, "d": 8, "c": 8, "z": 16}[name[0]]
    if name[1:] == "syrk":
        return element * sizes[0] * (sizes[0] + 1) // 2
    return element * sizes[0] * sizes[1]
