"""A job in words and numbers, for all views."""

from blastoff import quantities
from blastoff.report.job import Job, Sums

COLUMNS = ("calls", "offloaded", "CPU s", "device s", "moving s", "GFLOP/s", "to device", "from device", "reused", "reuse")


def cells(sums: Sums) -> list[str]:
    """One row of numbers, in the order of COLUMNS."""
    rate = sums.gflops_offloaded
    return [
        quantities.count(sums.calls),
        quantities.count(sums.offloaded),
        quantities.seconds(sums.cpu_seconds),
        quantities.seconds(sums.device_seconds),
        quantities.seconds(sums.transfer_seconds),
        "-" if rate is None else quantities.number(rate),
        quantities.size(sums.bytes_to_device),
        quantities.size(sums.bytes_from_device),
        quantities.size(sums.bytes_reused),
        f"{quantities.number(sums.operand_reuse)}x" if sums.bytes_to_device else "-",
    ]


def describe_device(report: dict) -> str:
    """The device of one process in a line."""
    device = report["device"]
    name = device["name"] or device["kind"]
    software = f" ({device['software']})" if device["software"] else ""
    state = "" if device["state"] == "working" else f", {device['state']}"
    return f"{name}{software}{state}"


def describe_policy(report: dict) -> str:
    """The policy of one process in a line, and why it is not the one requested."""
    policy = report["policy"]
    if report["placement"] is not None:
        how = f" by moving pages to NUMA node {report['placement']['node']}"
    else:
        how = f", writes tracked by {policy['tracker']}" if policy["tracker"] not in ("", "none") else ""
    instead = f" instead of {policy['requested']}: {policy['reason']}" if policy["reason"] else ""
    return f"{policy['in_force']}{how}{instead}"


def describe_run(report: dict) -> str:
    """What ran, in a line."""
    return report["process"]["command_line"] or report["process"]["program"]


def facts(job: Job) -> list[tuple[str, str]]:
    """Facts about the run besides its sums: label and text."""
    lines = []
    descriptions = (("program", describe_run), ("device", describe_device), ("policy", describe_policy))
    for label, describe in descriptions:
        for text, processes in job.distinct(describe):
            shared = "" if processes == len(job.processes) else f"  ({processes} of {len(job.processes)} processes)"
            lines.append((label, f"{text}{shared}"))
    elapsed = quantities.duration(max(process.report["process"]["elapsed_seconds"] for process in job.processes))
    in_blas = quantities.duration(job.totals.seconds)
    if len(job.processes) > 1:
        lines.append(("processes", str(len(job.processes))))
        lines.append(("time", f"{elapsed} for the longest process; {in_blas} in BLAS, all processes and threads together"))
    else:
        lines.append(("time", f"{elapsed}; {in_blas} in BLAS, all threads together"))
    return lines


def conclusions(job: Job) -> list[tuple[str, str]]:
    """The sentences below the table: reuse, refusals, copied operands, verification."""
    lines = []
    if job.totals.bytes_to_device:
        lines.append(("reuse", f"each byte moved to the device was used {quantities.number(job.totals.operand_reuse)} times there"))
    placed, left = job.placed()
    if placed or left:
        lines.append(("placed", f"{quantities.size(placed)} on the device's NUMA node"))
    lines.extend(("placed", f"{quantities.size(count)} stay elsewhere: {reason}") for reason, count in left.items())
    for label, reasons in (("on the CPU", job.refusals()), ("copied", job.copied())):
        lines.extend((label, f"{quantities.count(calls)} calls: {reason}") for reason, calls in reasons.items())
    checked = job.verification()
    if checked["checked"] or checked["stale_pages"]:
        worst = f"worst relative error {checked['worst_relative_error']:.1e}"
        lines.append(("verified", f"{checked['checked']} calls, {checked['violations']} violations, {worst}, {checked['stale_pages']} stale pages"))
    return lines
