"""`blastoff run`: checks everything first, runs the program, and reports when it has ended."""

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from blastoff import executable, library, options, printable
from blastoff.errors import CommandError
from blastoff.job import runs
from blastoff.run import arguments as command_line
from blastoff.run import keeping, membership, process, watch, witness
from blastoff.run.environment import program_environment

if TYPE_CHECKING:
    from blastoff.mps import guardian
    from blastoff.run import energy, nodes

STDOUT = "/dev/stdout"


def preloadable_library() -> Path:
    """The library's path. It is refused if it contains a space or a colon, which separate the entries of LD_PRELOAD."""
    path = library.find_library()
    if any(separator in str(path) for separator in " :\t\n"):
        raise CommandError(f"{path}: a path in LD_PRELOAD cannot contain a space or a colon; set BLASTOFF_LIBRARY to another copy")
    return path


def say(text: str) -> None:
    """Prints on stderr. Does nothing if stderr is closed or cannot be written."""
    with contextlib.suppress(OSError, ValueError):
        if sys.__stderr__ is not None:
            os.write(sys.__stderr__.fileno(), printable.lines(text).encode(sys.__stderr__.encoding, errors="replace"))


def report_memory(member: membership.Member, environment: dict[str, str]) -> None:
    """Writes the time line of the memory beside the reports, and says what it shows."""
    from blastoff.sampling import results
    from blastoff.sampling.view import words

    document = results.collect(member.directory)
    if document is None:
        return
    pattern = environment.get("BLASTOFF_REPORT", "")
    if pattern not in ("", STDOUT):
        library.write_report(library.find_library(), results.beside(pattern), document)
    if environment.get("BLASTOFF_SUMMARY") != "never":
        say(words.summary(document))


class Company(NamedTuple):
    """The launchers that report together with this one: those of its run on this node, and those on other nodes of its job."""

    member: membership.Member
    meeting: "nodes.Meeting | nodes.Apart | None"
    """None if the program is not a rank of a job."""


class Preparation:
    """Imports the modules that report() needs. Does so while the program runs, to start the program sooner, and one module at a time, since
    signals wait during an import."""

    def __init__(self) -> None:
        self.left = ["blastoff.job.reading", "blastoff.run.nodes", "blastoff.run.view", "blastoff.job.metering"]

    def idle(self) -> float:
        """Imports the next module, and returns the seconds until the next call."""
        if not self.left:
            return watch.FOREVER
        with contextlib.suppress(Exception):  # report() says what is wrong
            import_module(self.left.pop(0))
        return 0


Idle = Callable[[], float]
"""A function that does something while the program runs, and returns the seconds until its next call."""


def meanwhile(company: Company | None, environment: dict[str, str], child: int, sampling: watch.Watch | None) -> Idle | None:
    """What to do while the program runs. Imports nothing in advance if ranks have launchers of their own: the ranks use all cores, and usually
    another launcher reports."""
    chosen: list[Idle] = [sampling.idle] if sampling is not None else []
    if company is not None:
        chosen.append(keeping.Keeper(company.member.directory, environment, child).idle)
    if company is not None and company.meeting is None and sampling is None:
        chosen.append(Preparation().idle)
    return (lambda: min(idle() for idle in chosen)) if chosen else None


def report(company: Company, command: Sequence[str], environment: dict[str, str], known: dict[int, str]) -> None:
    """Reports all processes of the run if this is its last launcher."""
    member = company.member
    if not member.leave():
        return
    from blastoff.job import folding, reading
    from blastoff.run import nodes, view

    processes = list(reading.read_run(member.directory, known))
    if (runs.bulk(member.directory) / runs.ENERGY).exists():
        from blastoff.job import metering

        metering.attach(metering.collect(member.directory), processes, environment.get("BLASTOFF_REPORT", ""))
    write = keeping.writer(environment)
    folded = len(folding.read(member.directory))  # their reports have been written
    for one in processes[folded:] if write is not None else []:
        if one.worked and one.ended != "exit":
            write(one)
    gathered = (company.meeting or nodes.Apart()).gather(processes)
    if gathered is not None:
        words = view.words(gathered.processes, command, environment.get("BLASTOFF_SUMMARY") or "auto")
        say(words + (f"blastoff: {gathered.remark}\n" if words and gathered.remark else ""))
    if environment.get("BLASTOFF_MEMORY"):
        report_memory(member, environment)
    member.remove()


def say_that_nothing_was_counted(environment: dict[str, str]) -> None:
    """Says that the run has no directory. Only one rank says so."""
    if environment.get("BLASTOFF_SUMMARY") == "never" or library.global_rank(library.find_library()) > 0:
        return
    places = ", ".join(str(base) for base in runs.bases()) or "there is no temporary directory"
    say(f"blastoff: no place for the counters of this run ({places}): each process reports for itself if it ends by exit\n")


def begin_metering(directory: Path, environment: dict[str, str]) -> "energy.Watch | None":
    """Starts to read energy counters. Called after the program has started, because the imports would delay its start."""
    with contextlib.suppress(Exception):
        from blastoff.run import energy

        watching = energy.Watch(directory, environment)
        watching.start()
        return watching
    return None


def execute(program: Path, command: Sequence[str], environment: dict[str, str], company: Company | None, kept: set[int]) -> NoReturn:
    """Runs the program, and ends this process in the way in which the program ended. `kept`: files that stay open while it runs."""
    member = company.member if company else None
    interval = options.milliseconds(environment.get("BLASTOFF_MEMORY", ""))
    sampling = watch.Watch(interval / 1000, member.directory if member else None, say) if interval else None
    metered = member is not None and environment.get("BLASTOFF_ENERGY") != "off"
    if metered:  # from now on the processes of the run keep their marks
        with contextlib.suppress(OSError):
            (runs.bulk(member.directory) / runs.MARKS).touch(mode=0o600)
    try:
        child = process.start(program, command, environment)
    except CommandError:
        if company is not None and company.member.leave():
            if company.meeting is not None:
                company.meeting.withdraw()
            company.member.remove()
        raise
    signal_witness = witness.call()
    kept = kept | ({signal_witness.pipe} if signal_witness else set())
    process.let_go_of_files(kept | ({1} if environment.get("BLASTOFF_REPORT") == STDOUT else set()))
    if sampling is not None:
        sampling.begin(child)
    meter = begin_metering(member.directory, environment) if metered else None
    status = process.wait_for(child, signal_witness.heard if signal_witness else None, meanwhile(company, environment, child, sampling))
    if meter is not None:
        meter.finish()
    if signal_witness is not None:
        signal_witness.dismiss()
    if sampling is not None:
        sampling.finish(command, environment["BLASTOFF_RUN"])
    if company is None:
        say_that_nothing_was_counted(environment)
    else:
        try:
            report(company, command, environment, {child: runs.how_it_ended(status)})
        except Exception as error:  # whatever it is, the exit status stays the program's
            say(f"blastoff: this run cannot be summed up: {error}; its counters are in {company.member.directory}\n")
    if signal_witness is not None:
        signal_witness.end()
    process.end_as(status)


def other_nodes(environment: dict[str, str], member: membership.Member) -> "nodes.Meeting | nodes.Apart | None":
    """The other nodes of the job, if the program is one of its ranks."""
    if library.global_rank(library.find_library()) < 0:
        return None
    from blastoff.run import nodes

    return nodes.meet(environment, member)


def mps_service(environment: dict[str, str], command: Sequence[str], member: membership.Member | None) -> "guardian.Member | None":
    """The MPS daemon of the program's ranks, if the settings ask for one. Imports the code only then, since that takes long."""
    if environment.get("BLASTOFF_MPS") != "auto":
        return None
    from blastoff.run import sharing

    return sharing.arrange(environment, command, member, say)


def run(arguments: Sequence[str]) -> NoReturn:
    """`blastoff run ARGUMENTS`."""
    path = preloadable_library()
    table = options.read_table(path)
    given, command = command_line.parse(arguments, table)
    options.check_environment([option for option in table if option.name not in given], os.environ)
    program = executable.find_program(command[0])
    executable.check_preloadable(program)
    environment = program_environment(table, given, path)
    member = membership.join()
    if member is not None:
        environment["BLASTOFF_RUN_DIRECTORY"] = str(member.directory)
    service = mps_service(environment, command, member)
    company = Company(member, other_nodes(environment, member)) if member is not None else None
    execute(program, command, environment, company, {service.lock} if service else set())
