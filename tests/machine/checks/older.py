"""Kernels without asynchronous write protection: mirrors by soft-dirty bits, or copies."""

from collections.abc import Sequence

from check import Check, huge_pages, offloaded, program, under, unit_tests

MEMORY = ("free", "munmap", "mremap", "heap", "madvise", "read", "shared", "static", "guard", "read-only")
NO_TRACKING = r"write-protect|soft-dirty|userfaultfd"


def scenarios(**policy: str | None) -> list[Check]:
    checks = [Check(f"memory {case}", program("memory", case), under(**policy), offloaded()) for case in MEMORY]
    checks.append(Check("factorise", program("factorise"), under(**policy), offloaded()))
    for seed, memory in ((1, "1G"), (2, "10M")):
        play = program("random_coherence", "--seed", seed, "--steps", 60, "--threads", 3, "--max-size", 60)
        checks.append(Check(f"random coherence, {memory} of device memory", play, under(**policy), offloaded(device_memory=memory)))
    return checks


def unit_checks() -> list[Check]:
    # Left out: what takes minutes here, or only prints.
    tests = program("unit_platform", "--gtest_filter=-*NoUnmappingIsEverMissed*:*SaysWhenEventsWereLost*:*PrintsItsCost*")
    return [
        Check(f"unit tests of the platform, huge pages {mode}", tests, unit_tests(at_least=60), before=huge_pages(mode))
        for mode in ("never", "always")
    ]


def checks() -> Sequence[Check]:
    return [*unit_checks(), *scenarios(policy="first-use", tracker="soft-dirty")]


def checks_in_container() -> Sequence[Check]:
    return [
        Check(check.name, program("contained", *check.command), check.judge, check.settings)
        for check in scenarios(policy="copy", tracker="none", reason=NO_TRACKING)
    ]
