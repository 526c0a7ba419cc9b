"""Machines whose device shares the CPU's page table, and whose device memory is a separate NUMA node."""

from collections.abc import Sequence

from check import BOTH_LIBRARIES, Check, Complaints, Judge, complaints_if, huge_pages, offloaded, offloads, program, under, unharmed
from offload import Outcome

from checks import platform

NO_CPUSET_NODE = """\
echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control
mkdir -p /sys/fs/cgroup/confined
echo 0 >/sys/fs/cgroup/confined/cpuset.mems
echo $$ >/sys/fs/cgroup/confined/cgroup.procs"""


def kernel(pages: str = "never", balancing: bool = False) -> str:
    """Shell lines for the kernel's settings. `balancing`: AutoNUMA, which moves pages to the CPUs that use them."""
    return f"{huge_pages(pages)}\necho {int(balancing)} >/proc/sys/kernel/numa_balancing"


def coherent(**settings: str) -> dict[str, str]:
    return offloaded(**{"simulated_form": "coherent"} | settings)


def placement(case: str) -> tuple[str, ...]:
    """The command for a case of the program placement. It runs without verification, whose system calls would be counted too; the program checks
    its results itself."""
    return program("counted", *program("placement", case))


def left(outcome: Outcome) -> dict[str, int]:
    return {one["reason"]: one["bytes"] for one in outcome.report["placement"]["left"]}


def moves(outcome: Outcome) -> Complaints:
    """Complains unless first-use has moved whole matrices to the device's node and the report says so."""
    found = outcome.report["placement"]
    return under("first-use", judge=unharmed)(outcome) + complaints_if(
        other_mechanism=outcome.report["policy"]["mechanism"] != "moves",
        other_node=found["node"] != 1,
        nothing_placed=found["bytes_placed"] == 0,
        left_is_not_its_parts=found["bytes_left"] != sum(left(outcome).values()),
    )


def moves_all(outcome: Outcome) -> Complaints:
    return moves(outcome) + complaints_if(left_behind=outcome.report["placement"]["bytes_left"] != 0)


def leaves(reason: str, lines: int) -> Judge:
    """Complains unless a part of the matrices was left for this reason, the report says so, and stderr has this number of lines."""

    def judged(outcome: Outcome) -> Complaints:
        found = [bytes for named, bytes in left(outcome).items() if reason in named]
        complaints = moves(outcome) + complaints_if(nothing_left_behind=sum(found) == 0)
        if len(outcome.lines) != lines:
            complaints.append(f"{len(outcome.lines)} lines instead of {lines}")
        return complaints

    return judged


def forbidden(outcome: Outcome) -> Complaints:
    lines = [line for line in outcome.lines if "NUMA node 1" in line]
    return under("coherent", reason="not allowed", judge=unharmed)(outcome) + complaints_if(not_one_line=len(lines) != 1)


def placed_at_malloc(outcome: Outcome) -> Complaints:
    """Complains unless, by the report, all matrices were in place before their first use."""
    found = outcome.report["placement"]
    return moves_all(outcome) + complaints_if(some_was_moved=found["bytes_moved"] != 0)


def case(name: str, of_program: str, judge: Judge = moves_all, before: str = kernel(), **settings: str) -> Check:
    return Check(name, placement(of_program), judge, coherent(**{"verify": "off"} | settings), before)


def told_by_calls() -> Check:
    """The check without the kernel's events, in which the allocator library tells which memory is freed."""
    settings = coherent(verify="off") | BOTH_LIBRARIES
    judge = under("first-use", tracker="interposed calls", judge=moves_all)
    return Check("memory that went away, told by interposed calls", program("contained", "events", *placement("gone")), judge, settings, kernel())


def random_coherence(name: str, policy: str, before: str) -> Check:
    play = program("random_coherence", "--seed", 3, "--steps", 60, "--threads", 3, "--max-size", 60)
    return Check(name, play, under(policy, judge=offloads), coherent(policy=policy), before)


def checks() -> Sequence[Check]:
    return [
        *platform.checks("madvise"),
        *(case(f"first use, by {mode}", "first-use", intercept=mode) for mode in ("patch", "preload")),
        case("first use, huge pages wherever possible", "first-use", before=kernel(pages="always")),
        case("AutoNUMA", "balanced", before=kernel(balancing=True)),
        case("part of a matrix", "submatrix"),
        case("memory that went away", "gone"),
        told_by_calls(),
        case("huge pages", "huge", before=kernel(pages="always")),
        case("locked memory", "locked"),
        case("shared memory", "shared", leaves("shared with another process", lines=0)),
        case("a full node", "full", leaves("full", lines=1)),
        case("a cpuset without the node", "stay", forbidden, before=f"{kernel()}\n{NO_CPUSET_NODE}"),
        case("placement at malloc", "at-malloc", placed_at_malloc, place="at-malloc=100K"),
        case("placement at malloc, AutoNUMA and huge pages", "at-malloc", placed_at_malloc, kernel("always", True), place="at-malloc=100K"),
        case("alignment", "aligned", align="100K"),
        case("coherent access", "stay", under("coherent", judge=unharmed), policy="coherent"),
        random_coherence("random coherence, first use", "first-use", kernel(pages="always")),
        random_coherence("random coherence, coherent access", "coherent", kernel()),
    ]


def mirrors(tracker: str) -> Check:
    """A check of mirrors with this tracker, on a device with its own memory. This kernel has both kinds of write tracking."""
    play = program("random_coherence", "--seed", 4, "--steps", 40, "--threads", 3, "--max-size", 60)
    return Check(f"random coherence, mirrors by {tracker}", play, under("first-use", tracker), offloaded(tracker=tracker), kernel())


def checks_with_mirrors() -> Sequence[Check]:
    return [*checks(), mirrors("uffd"), mirrors("soft-dirty")]
