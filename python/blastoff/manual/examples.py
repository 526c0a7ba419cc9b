"""What the manual pages show besides options: examples, and the files that Blastoff reads and writes."""

FIRST = (
    ("blastoff try -- python3 train.py", "Without a GPU: whether one would help, and how much."),
    ("blastoff run -- python3 train.py", "With a GPU: runs the program offloaded, and sums up what happened."),
    ("blastoff doctor", "What works on this machine, what does not, and how to fix it."),
)
"""Those of blastoff itself."""

EXAMPLES = {
    "run": (
        ("blastoff run -- ./a.out input.dat", "Runs the program, offloads its calls where that takes less time, and sums them up."),
        ("blastoff run --device none --report run.json -- ./a.out", "Offloads nothing, counts and times all calls, and writes a report."),
        ("mpirun -n 4 blastoff run --report reports/ -- ./a.out", "A launcher for each rank, one summary, and a report for each rank."),
        ("blastoff run --verify --device simulated -- python3 script.py", "Compares each result with the CPU's, on a machine without a GPU."),
    ),
    "try": (("blastoff try -- python3 train.py", "Whether a GPU would help this program. Needs no GPU."),),
    "env": (
        ('eval "$(blastoff env --policy copy)"', "Every program that this shell starts is offloaded."),
        ('eval "$(blastoff env --unset)"', "Removes that again."),
    ),
    "inspect": (("blastoff inspect ./a.out", "Which BLAS the program gets, and whether its calls can be intercepted."),),
    "doctor": (("blastoff doctor", "What works on this machine, and what to do about what does not."),),
    "top": (("blastoff top", "The newest run of this user on this machine, until it ends."), ("blastoff top --once --json", "One look, as JSON.")),
    "report": (
        ("blastoff report run.json", "The report of one process."),
        ("blastoff report reports/ --html job.html", "A job of many processes as one page."),
        ("blastoff report --compare before.json after.json", "Two runs side by side."),
    ),
    "advise": (("blastoff advise reports/", "What stands in the way, by the wall time that it costs."),),
    "site": (("blastoff site reports/", "Who of a site's users would gain from GPUs, by the reports and traces of many jobs."),),
    "memory": (("blastoff memory run.json --html memory.html", "The time line of `run --memory --report run.json` as a page."),),
    "predict": (
        ("blastoff predict run.trace", "What the traced program would take on all machines that have a model."),
        ("blastoff predict run.trace --machine h200 --gpus 2", "On one of them, with two GPUs."),
    ),
    "calibrate": (("blastoff calibrate", "Measures this machine in two minutes. Nothing else should run meanwhile."),),
    "lab": (("blastoff lab daxpy --device simulated --quick", "A trial without a GPU, in seconds."),),
    "completion": (('eval "$(blastoff completion bash)"', "Completes commands and options in this shell."),),
}
"""By command: command lines, and what they do."""

RUN_STATUS = (
    "That of PROGRAM; 2 if an option, a setting or the program does not allow it to be run with Blastoff; 126 if it cannot be executed; "
    "127 if there is no such program."
)
STATUS = "0 if it worked; 1 if it failed or its output cannot be written; 2 if the command line or a file cannot be used."
"""Of commands whose help does not tell theirs."""

FILES = (
    ("/etc/blastoff.conf", "The site's defaults: NAME = VALUE in each line."),
    ("/etc/blastoff/machines/", "The site's machine models."),
    ("~/.cache/blastoff/", "This user's machine models, and what earlier runs tell of later ones (BLASTOFF_HISTORY)."),
    ("/dev/shm/blastoff.UID.HOST.*", "Counters of a run while it lasts, in $XDG_RUNTIME_DIR, /dev/shm or the temporary directory."),
)
"""The files that several commands read and write. docs/files.md says more."""
