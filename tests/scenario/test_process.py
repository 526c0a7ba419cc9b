"""A process that has offloaded calls may fork, start other programs, and end in every possible way."""

import functools
import shutil
import signal

import offload
import pytest

REPORTED = ["return", "exit", "at-exit", "exit-beside-threads"]
UNREPORTED = {
    "_exit": 4,
    "quick_exit": 5,
    "abort": -signal.SIGABRT,
    "segv": -signal.SIGSEGV,
    "term": -signal.SIGTERM,
    "kill": -signal.SIGKILL,
}


@pytest.fixture
def unharmed(unharmed):
    return functools.partial(unharmed, launched=True)


@pytest.mark.parametrize("case", ["fork", "fork-beside-threads", "start-others"])
def test_children(unharmed, policy, case):
    outcome = unharmed("process", case, policy=policy)
    assert outcome.total("offloaded") > 0


FORKS = ["_Fork", "SYS_fork", "SYS_clone"]  # these run no handler of pthread_atfork()


@pytest.mark.parametrize("how", FORKS)
def test_an_unseen_child_computes_on_the_cpu(policy, device, how, tmp_path):
    """The child ends by exit(3), and its report counts only its own calls."""
    command = offload.program("process", "fork-unseen", how)
    settings = {"BLASTOFF_DEVICE": device, "BLASTOFF_MIN_SIZE": "0", "BLASTOFF_POLICY": policy, "BLASTOFF_REPORT": f"{tmp_path}/%p.json"}
    outcome = offload.preloaded(command, env={**settings, "BLASTOFF_SUMMARY": "never"}, timeout=30)
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, offload.plain(command).stdout, "")
    reports = [offload.read_report(path)["totals"] for path in tmp_path.glob("*.json")]
    assert sorted((totals["calls"], totals["offloaded"]) for totals in reports) == [(4, 0), (6, 6)]


@pytest.mark.parametrize("how", FORKS)
def test_an_unseen_child_takes_nothing_from_its_parent(unharmed, policy, how):
    unharmed("process", "compete-unseen", how, policy=policy, verify="off", launched=False)


def test_a_child_of_a_process_without_calls_offloads(unharmed, policy):
    """The report is the child's; its parent made no call."""
    outcome = unharmed("process", "fork-first", policy=policy)
    assert outcome.total("calls") == outcome.total("offloaded") == 1


def test_children_compute_on_the_cpu(unharmed, device, tmp_path):
    """Each forked child that ends by exit(3) writes its own report; the children here end by _exit(2) and write none."""
    outcome = unharmed("process", "fork", device=device)
    assert outcome.report["process"]["pid"] > 0
    assert outcome.total("calls") == outcome.total("offloaded") == 12  # the parent's own


def reports_of(command, device, policy, directory) -> list[dict]:
    """The reports of all processes of the command, with the child's last."""
    settings = [f"--device={device}", f"--policy={policy}", "--min-size=0", "--summary=never", "--verify=abort", f"--tracker={offload.TRACKER}"]
    outcome = offload.run([offload.COMMAND, "run", *settings, f"--report={directory}/%p.json", "--", *command], env=offload.environment())
    assert "WRONG" not in outcome.stdout
    assert outcome.lines == []
    reports = [offload.read_report(path) for path in directory.glob("*.json")]
    return sorted(reports, key=lambda report: report["totals"]["calls"])


def refused(report: dict) -> dict[str, int]:
    return {refusal["reason"]: refusal["calls"] for refusal in report["refusals"]}


def test_calls_of_a_forked_child_are_counted_as_such(device, policy, tmp_path):
    parent, child = reports_of(offload.program("process", "fork-and-exit"), device, policy, tmp_path)
    assert (parent["totals"]["offloaded"], refused(parent)) == (1, {})
    assert (child["totals"]["calls"], child["totals"]["offloaded"], refused(child)) == (3, 0, {offload.FORKED: 3})
    assert child["verification"] == {"checked": 0, "violations": 0, "worst_relative_error": 0, "stale_pages": 0}


def test_calls_of_an_ending_process_are_counted_as_such(device, policy, tmp_path):
    (report,) = reports_of(offload.program("process", "destructor"), device, policy, tmp_path)
    assert (report["totals"]["calls"], report["totals"]["offloaded"], refused(report)) == (4, 2, {offload.EXITING: 2})
    assert report["verification"]["checked"] == 2


@pytest.mark.parametrize("how", REPORTED)
def test_an_ending_with_report(unharmed, policy, how):
    outcome = unharmed("process", how, policy=policy)
    assert outcome.report and outcome.total("calls") >= 2


@pytest.mark.parametrize("how", UNREPORTED)
def test_an_ending_without_report(device, policy, how):
    """At such an end the library is not called. Status and output are the program's own."""
    command = offload.program("process", how)
    plain = offload.plain(command)
    assert plain.status == UNREPORTED[how]
    direct = offload.preloaded(command, env={"BLASTOFF_DEVICE": device, "BLASTOFF_MIN_SIZE": "0", "BLASTOFF_POLICY": policy})
    assert (direct.status, direct.stdout, direct.stderr_of_program) == (plain.status, plain.stdout, plain.stderr)
    launched = offload.offloaded(command, device=device, policy=policy)
    assert launched.stdout == plain.stdout
    # A launcher that has become the program dies of the same signal; a launcher that waits for the program returns 128 + the signal.
    assert launched.status in (plain.status, 128 - plain.status)


def test_exec(unharmed, policy):
    """The new program starts afresh under the same settings; /bin/sh makes no call."""
    outcome = unharmed("process", "exec", policy=policy)
    assert outcome.status == 6


def test_a_report_for_each_process(device, tmp_path):
    """The shell and the programs that it starts each write their own report; processes without calls may write none."""
    command = " && ".join(" ".join(offload.program("products", size)) for size in (40, 60, 80))
    launcher = [offload.COMMAND, "run", f"--device={device}", "--min-size=0", "--summary=never", f"--report={tmp_path}/%p.json"]
    outcome = offload.run([*launcher, "--", "/bin/sh", "-c", f"{command}; true"], env=offload.environment())
    assert outcome.status == 0, outcome.stderr
    reports = [offload.read_report(path) for path in tmp_path.glob("*.json")]
    used = [report for report in reports if report["totals"]["offloaded"] > 0]
    assert len(used) == 3
    for report in used:
        assert (tmp_path / f"{report['process']['pid']}.json").exists()


def test_a_fixed_report_path_in_several_processes(device, tmp_path):
    """Nothing is overwritten: the process id is added to a path without %p for every process after the first."""
    command = "; ".join(" ".join(offload.program("products", 40)) for _ in range(3))
    launcher = [offload.COMMAND, "run", f"--device={device}", "--min-size=0", "--summary=never", f"--report={tmp_path}/run.json"]
    outcome = offload.run([*launcher, "--", "/bin/sh", "-c", command], env=offload.environment())
    assert outcome.status == 0, outcome.stderr
    used = [path for path in tmp_path.glob("*.json") if offload.read_report(path)["totals"]["offloaded"] > 0]
    assert len(used) == 3


def test_ranks_of_a_job_write_their_own_reports(device, tmp_path):
    for rank in ("0", "1"):
        outcome = offload.preloaded(
            offload.program("products", 40),
            env={
                "BLASTOFF_DEVICE": device,
                "BLASTOFF_MIN_SIZE": "0",
                "BLASTOFF_SUMMARY": "never",
                "BLASTOFF_REPORT": f"{tmp_path}/rank-%r.json",
                "OMPI_COMM_WORLD_RANK": rank,
                "OMPI_COMM_WORLD_LOCAL_RANK": rank,
                "OMPI_COMM_WORLD_SIZE": "2",
            },
        )
        # Two ranks and one GPU: the rank modulo the number of GPUs selects the GPU, so every rank has one.
        assert outcome.status == 0 and outcome.lines == []
    for rank in (0, 1):
        assert offload.read_report(tmp_path / f"rank-{rank}.json")["process"]["rank"] == rank


@pytest.mark.parametrize("intercept", ["auto", "preload"])
def test_two_copies(device, tmp_path, intercept):
    """The copy that is loaded first is active: calls are offloaded once and counted once, and one line says so."""
    copy = shutil.copy(offload.LIBRARY, tmp_path / "libother.so")
    command = offload.program("products", 40)
    settings = {"BLASTOFF_DEVICE": device, "BLASTOFF_MIN_SIZE": "0", "BLASTOFF_SUMMARY": "never", "BLASTOFF_INTERCEPT": intercept}
    alone = offload.run(command, env=offload.environment(LD_PRELOAD=str(offload.LIBRARY), BLASTOFF_REPORT=f"{tmp_path}/alone.json", **settings))
    expected = offload.read_report(tmp_path / "alone.json")
    assert alone.stderr == "" and expected["totals"]["offloaded"] > 0
    for first, second in ((offload.LIBRARY, copy), (copy, offload.LIBRARY)):
        path = tmp_path / first.name
        preload = {"LD_PRELOAD": f"{first}:{second}", "BLASTOFF_REPORT": f"{path}.%p.json"}
        outcome = offload.run(command, env=offload.environment(**preload, **settings))
        assert (outcome.status, outcome.stdout) == (0, alone.stdout)
        assert outcome.lines == [f"Blastoff is loaded 2 times: {first} is active, {second} is inactive"]
        (report,) = [offload.read_report(found) for found in tmp_path.glob(f"{first.name}.*.json")]
        assert report["totals"]["calls"] == expected["totals"]["calls"]
        assert report["totals"]["offloaded"] == expected["totals"]["offloaded"]
        assert str(second) not in [patched["path"] for patched in report["interception"]["objects"]]


def test_a_copy_beside_another_is_silent(tmp_path):
    """A process that makes no calls prints nothing about the second copy."""
    copy = shutil.copy(offload.LIBRARY, tmp_path / "libother.so")
    outcome = offload.run(["/bin/true"], env=offload.environment(LD_PRELOAD=f"{offload.LIBRARY}:{copy}"))
    assert (outcome.status, outcome.stderr) == (0, "")
