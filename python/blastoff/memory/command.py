"""`blastoff memory`: shows the time line that `blastoff run --memory --report FILE` has written."""

from collections.abc import Sequence
from typing import Any

from blastoff import columns, files, printable
from blastoff.memory import table
from blastoff.parser import Parser
from blastoff.sampling import results


def run(arguments: Sequence[str]) -> int:
    parser = Parser(
        prog="blastoff memory",
        description="Shows how the memory of a run was used: when it was first touched and by whom, when it moved, what stayed. "
        "`blastoff run --memory --report FILE` writes the time line beside the report: run.memory.json for run.json.",
    )
    parser.add_argument("file", metavar="FILE", help="a time line, the report that it lies beside, or the directory of the reports")
    parser.add_argument("--html", metavar="FILE", help="write one self-contained page with figures")
    parser.add_argument("--csv", metavar="FILE", help="write the samples as a table, a line for each")
    parsed = parser.parse_args(arguments)
    document = results.read(parsed.file)
    if parsed.csv is not None:
        files.write(parsed.csv, table.csv_text(document))
    if parsed.html is not None:
        from blastoff.memory.view import page

        files.write(parsed.html, page.render(document))
    if parsed.csv is None and parsed.html is None:
        show(printable.values(document))
    return 0


def show(document: dict[str, Any]) -> None:
    from blastoff.sampling.view import words

    process = document["process"]
    print(f"{process['command_line']}  ({process['host']}, {document['seconds']:.3f} s)\n")
    print("\n".join(line.rstrip() for line in words.lines(document, columns.terminal_width())))
