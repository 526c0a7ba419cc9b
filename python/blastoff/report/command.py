"""`blastoff report`: shows the JSON reports of a job and sums them up, or compares two jobs."""

from collections.abc import Sequence

from blastoff import columns, files, printable
from blastoff.errors import CommandError
from blastoff.job import reading
from blastoff.job.processes import Job
from blastoff.parser import Parser


def parser() -> Parser:
    result = Parser(
        prog="blastoff report",
        description="Shows the reports that `blastoff run --report FILE` has written. Several files are added up as one job. A directory stands "
        "for the reports in it, or for the counters that the processes of a run keep in it. Where FILE is to be written, - is standard output.",
    )
    result.add_argument("files", metavar="FILE", nargs="*", help="report of one process, or a directory")
    result.add_argument("--compare", metavar=("FIRST", "SECOND"), nargs=2, help="show two reports, or directories of reports, side by side")
    result.add_argument("--html", metavar="FILE", help="write one self-contained page with plots instead")
    result.add_argument("--json", action="store_true", help="print the sums of the job, its call sites and its verdict as JSON")
    result.add_argument("--csv", metavar="FILE", help="write a row for each routine of each process, with all counters")
    result.add_argument("--chrome-trace", metavar="FILE", help="write the time line for chrome://tracing or Perfetto")
    return result


def run(arguments: Sequence[str]) -> int:
    parsed = parser().parse_args(arguments)
    if parsed.compare:
        if parsed.files:
            raise CommandError("report: --compare takes two reports and no other FILE")
        return compare(parsed.compare)
    if not parsed.files:
        raise CommandError("report: the following arguments are required: FILE")
    job = reading.read_job(parsed.files)
    if parsed.html is not None:
        from blastoff.report.view import page

        files.write(parsed.html, page.render(job))
    if parsed.csv is not None or parsed.chrome_trace is not None or parsed.json:
        export_as(job, parsed.csv, parsed.chrome_trace, parsed.json)
    elif parsed.html is None:
        show(job)
    return 0


def show(job: Job) -> None:
    """Prints the job as plain text."""
    from blastoff.job.call_sites import call_sites
    from blastoff.job.view import table

    width = columns.terminal_width()
    print(table.text(job, width), end="")
    lines = table.site_lines(call_sites(job), width)
    if lines:
        print("\n".join(["", *lines]))


def compare(paths: Sequence[str]) -> int:
    from blastoff.report.view import compare

    jobs = [reading.read_job(given).printable() for given in (paths[:1], paths[1:])]
    print(printable.lines(compare.text(*jobs, paths, columns.terminal_width())), end="")
    return 0


def export_as(job: Job, csv: str | None, trace: str | None, as_json: bool) -> None:
    from blastoff.report.view import export

    if csv is not None:
        files.write(csv, export.as_csv(job))
    if trace is not None:
        if not any(process.timeline for process in job.processes):
            raise CommandError("report: there is no time line; a process that ends by exit writes one with --report")
        files.write(trace, export.as_trace(job))
    if as_json:
        print(export.as_json(job), end="")
