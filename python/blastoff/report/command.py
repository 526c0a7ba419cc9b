"""`blastoff report`: shows the JSON reports of a job and sums them up."""

import sys
from collections.abc import Sequence
from pathlib import Path

from blastoff.errors import CommandError
from blastoff.job import reading
from blastoff.parser import Parser


def run(arguments: Sequence[str]) -> int:
    parser = Parser(
        prog="blastoff report",
        description="Shows the reports that `blastoff run --report FILE` has written. Several files are added up as one job. A directory stands "
        "for the reports in it, or for the counters that the processes of a run keep in it.",
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="report of one process, or a directory")
    parser.add_argument("--html", metavar="FILE", help="write one self-contained page with plots instead")
    parsed = parser.parse_args(arguments)
    return show(parsed.files, parsed.html)


def show(paths: Sequence[str], html: str | None) -> int:
    """Prints the job's summary, or writes it as a page."""
    job = reading.read_job(paths)
    if html is None:
        from blastoff.job.view import table

        print(table.text(job), end="")
        return 0
    from blastoff.report.view import page

    try:
        Path(html).write_text(page.render(job))
    except OSError as error:
        raise CommandError(f"{html}: {error.strerror}") from error
    print(f"blastoff: wrote {html}", file=sys.stderr)
    return 0
