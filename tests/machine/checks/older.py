"""Kernels without asynchronous write protection, where Blastoff keeps mirrors by soft-dirty bits, or copies."""

from collections.abc import Sequence
from dataclasses import replace

from check import BOTH_LIBRARIES, Check, Complaints, complaints_if, offloaded, offloads, program, under, unharmed
from offload import Outcome

from checks import platform

MEMORY = ("free", "munmap", "mremap", "heap", "madvise", "read", "shared", "static", "guard", "read-only")
NO_TRACKING = r"soft-dirty|clear_refs"


def reuses(outcome: Outcome) -> Complaints:
    """Also complains if nothing was reused on the device, since right results would prove nothing then."""
    return offloads(outcome) + complaints_if(nothing_reused=bool(outcome.report) and outcome.total("bytes_reused") == 0)


def goes_home(outcome: Outcome) -> Complaints:
    """Judges a program whose results were to stay: no page can be filled for the kernel's own accesses."""
    if not outcome.report:
        return [*unharmed(outcome), "no report"]
    totals = outcome.report["totals"]
    return unharmed(outcome) + complaints_if(
        nothing_offloaded=totals["offloaded"] == 0,
        results_stayed=totals["bytes_left"] != 0,
        nothing_came_home=totals["bytes_from_device"] == 0,
    )


def results(**policy) -> Check:
    settings = offloaded(results="stay", verify="off")
    return Check("results that were to stay", program("results", "write", "/tmp/result"), under(**policy, judge=goes_home), settings)


def memory(cases: Sequence[str], **policy) -> list[Check]:
    return [Check(f"memory {case}", program("memory", case), under(**policy), offloaded()) for case in cases]


def factorise(**policy) -> Check:
    return Check("factorise", program("factorise"), under(**policy), offloaded())


def random_coherence(seed: int, device_memory: str, **policy) -> Check:
    play = program("random_coherence", "--seed", seed, "--steps", 40, "--threads", 3, "--max-size", 60)
    name = f"random coherence, {device_memory} of device memory"
    return Check(name, play, under(**policy), offloaded(device_memory=device_memory))


def contained(check: Check, what: str) -> Check:
    return replace(check, name=f"{check.name}, contained", command=program("contained", what, *check.command))


def told_by_calls(check: Check) -> Check:
    """The check without the kernel's events, in which the allocator library tells which memory is freed."""
    return replace(contained(check, "events"), settings=check.settings | BOTH_LIBRARIES)


def checks() -> Sequence[Check]:
    tracked = {"policy": "first-use", "tracker": "soft-dirty"}
    calls = [*memory(("free", "munmap", "mremap", "madvise"), **tracked), random_coherence(3, "10M", **tracked)]
    return [
        *platform.checks("never", "always"),
        *memory(MEMORY, **tracked),
        factorise(**tracked, judge=reuses),
        random_coherence(1, "1G", **tracked, judge=reuses),
        random_coherence(2, "10M", **tracked),
        results(**tracked),
        *map(told_by_calls, calls),
    ]


def checks_in_container() -> Sequence[Check]:
    copied = {"policy": "copy", "tracker": "none", "reason": NO_TRACKING}
    cases = memory(("free", "munmap", "read", "shared", "static"), **copied)
    return [contained(check, "tracking") for check in [*cases, factorise(**copied), results(**copied), random_coherence(1, "10M", **copied)]]
