"""Kernels without asynchronous write protection: mirrors by soft-dirty bits, or copies."""

from collections.abc import Sequence

from check import Check, offloaded, program, under, unit_tests

MEMORY = ("free", "munmap", "mremap", "heap", "madvise", "read", "shared", "static", "guard", "read-only")
NO_TRACKING = r"write-protect|soft-dirty|userfaultfd"


def scenarios(**policy: str | None) -> list[Check]:
    checks = [Check(f"memory {case}", program("memory", case), under(**policy), offloaded()) for case in MEMORY]
    checks.append(Check("factorise", program("factorise"), under(**policy), offloaded()))
    for seed, memory in ((1, "1G"), (2, "10M")):
        play = program("random_coherence", "--seed", seed, "--steps", 60, "--threads", 3, "--max-size", 60)
        checks.append(Check(f"random coherence, {memory} of device memory", play, under(**policy), offloaded(device_memory=memory)))
    return checks


def checks() -> Sequence[Check]:
    tracker = Check("unit tests of the platform", program("unit_platform", "--gtest_brief=0"), unit_tests(at_least=30))
    return [tracker, *scenarios(policy="first-use", tracker="soft-dirty")]


def checks_in_container() -> Sequence[Check]:
    return [
        Check(check.name, program("contained", *check.command), check.judge, check.settings)
        for check in scenarios(policy="copy", tracker="none", reason=NO_TRACKING)
    ]
