"""The unit tests of the module platform, on kernels that other machines do not have."""

import re

from check import Check, Complaints, huge_pages, program, unit_tests
from offload import Outcome

# Tests that take long here and do not depend on the kernel, or that only print.
LEFT_OUT = ("NoUnmappingIsEverMissed", "IsMissedByManyThreads/interposed", "SaysWhenEventsWereLost", "PrintsItsCost")


def checks(*huge_page_modes: str) -> list[Check]:
    tests = program("unit_platform", "--gtest_filter=-" + ":".join(f"*{name}*" for name in LEFT_OUT))
    return [
        Check(f"unit tests of the platform, huge pages {mode}", tests, unit_tests(at_least=60), before=huge_pages(mode)) for mode in huge_page_modes
    ]


def costs(outcome: Outcome) -> Complaints:
    """Complains unless the program printed its four lines, for two trackers with two kinds of pages each. The machine's log has them."""
    printed = re.findall(r"^\d+ MiB, .* pages: .*", outcome.stdout, re.MULTILINE)
    return [] if outcome.status == 0 and len(printed) == 4 else [f"status {outcome.status}", *printed]


def cost_of_tracking(mebibytes: int) -> Check:
    tests = program("unit_platform", "--gtest_filter=*PrintsItsCost*")
    return Check("cost of tracking", tests, costs, {"BLASTOFF_TEST_TRACKED_MIB": str(mebibytes)}, huge_pages("madvise"), seconds=600)
