"""What `blastoff inspect` found, in words."""

from collections.abc import Iterable
from typing import Any

from blastoff import terminal
from blastoff.inspect.inspection import Document

SHOWN_NAMES = 8
SHOWN_LENGTH = 200
STYLES = {"fortran": "Fortran", "cblas": "CBLAS"}
INTEGERS = {"lp64": "32-bit integers (LP64)", "ilp64": "64-bit integers (ILP64)"}
LINKAGES = {"shared_object": "a library", "dynamic_executable": "a dynamically linked program", "static_executable": "a statically linked program"}

LATER = (
    "Libraries that a program loads while it runs (dlopen: plugins, the modules of Python, R and Julia) are unknown before it runs. "
    "`blastoff inspect --pid PID` shows them in the running process."
)
SCRIPTS = LATER + " The same holds for other programs that a script starts: inspect each of them separately."

Lines = list[tuple[str, str]]


def some(names: Iterable[str]) -> str:
    """Names, the first few of many."""
    listed = list(names)
    more = f" and {len(listed) - SHOWN_NAMES} more" if len(listed) > SHOWN_NAMES else ""
    return " ".join(listed[:SHOWN_NAMES]) + more


def grouped(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    groups: dict[Any, list[Any]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def operation_and_type(routine: str) -> tuple[str, str]:
    """ "dgemm" -> ("gemm", "d"). The names of ScaLAPACK have a p before the letter of the type: "pdgemm" -> ("pgemm", "d")."""
    place = 1 if routine.startswith("p") else 0
    return routine[:place] + routine[place + 1 :], routine[place]


def routines(names: Iterable[str]) -> str:
    """dgemm zgemm zherk -> "dz: gemm; z: herk"."""
    types = grouped(operation_and_type(name) for name in sorted(set(names)))
    by_types = grouped(("".join(sorted(letters, key="sdcz".index)), operation) for operation, letters in types.items())
    return "; ".join(f"{letters}: {' '.join(operations)}" for letters, operations in by_types.items())


def style_lines(functions: list[Document]) -> Lines:
    """The functions, by calling style; FFTW's names show theirs, and so do those of DFTI."""
    transforms = grouped((interface, function["names"][0]) for function in functions if (interface := interface_of(function["routine"])))
    algebra = [function for function in functions if not interface_of(function["routine"])]
    styles = grouped(((function["style"], function["integers"]), function) for function in algebra)
    lines = [
        (STYLES[style], f"{len(group)} functions, {INTEGERS[integers]}: {routines(function['routine'] for function in group)}")
        for (style, integers), group in sorted(styles.items(), reverse=True)
    ]
    return [*lines, *((interface, f"{len(names)} functions: {some(names)}") for interface, names in sorted(transforms.items()))]


def interface_of(routine: str) -> str:
    """The interface of transforms to which a routine belongs; "" if it computes no transform."""
    return "FFTW" if "fftw" in routine else "DFTI" if routine.lower().startswith("dfti") else ""


def reach_lines(found: Document) -> Lines:
    """How many functions each interceptor reaches, and why not the others."""
    functions = found["functions"]
    patch, preload = (sum(function[way] for function in functions) for way in ("patch", "preload"))
    hidden = sum(not function["exported"] for function in functions)
    lines = [("patch", f"reaches {patch} of {len(functions)}")]
    for (obstacle, explanation), names in grouped(
        ((function["obstacle"], function["explanation"]), function["names"][0]) for function in functions if function["obstacle"]
    ).items():
        lines.append(("", f"not {some(names)}: {obstacle} ({explanation})"))
    by_name = f"reaches {preload} of {len(functions)}"
    if preload:
        lines.append(("preload", f"{by_name}, where other objects call them by their exported names"))
    elif found["linkage"] != "shared_object":
        lines.append(("preload", f"{by_name}: calls inside the program do not go through an exported name"))
    else:
        lines.append(("preload", by_name))
    if hidden and found["linkage"] == "shared_object":
        lines.append(("", f"{hidden} are not exported: only calls from inside the library reach them"))
    return [*lines, ("auto", auto_plan(functions))]


def auto_plan(functions: list[Document]) -> str:
    """What --intercept auto, the default, does with the functions."""
    by_name = sum(function["preload"] and not function["patch"] for function in functions)
    missed = [function["names"][0] for function in functions if not (function["patch"] or function["preload"])]
    plan = [f"patches {sum(function['patch'] for function in functions)}"]
    if by_name:
        plan.append(f"intercepts {by_name} by name")
    if missed:
        plan.append(f"misses {len(missed)}: {some(missed)}")
    return ", ".join(plan)


def state_lines(functions: list[Document]) -> Lines:
    """The state of the functions in a process's memory."""
    states = grouped((function["state"], function["names"][0]) for function in functions if function["state"])
    lines = [("in memory", f"{len(states['patched'])} patched by Blastoff")] if "patched" in states else []
    if "as in file" in states:
        lines.append(("in memory", f"{len(states['as in file'])} as in the file: {some(states['as in file'])}"))
    if "changed" in states:
        lines.append(("in memory", f"{len(states['changed'])} changed by another tool: {some(states['changed'])}"))
    return lines


def object_lines(found: Document) -> Lines:
    """The lines about one object."""
    functions = found["functions"]
    lines = style_lines(functions)
    if "kernels" in found:
        lines.append(("kernels", found["kernels"]))
    if "advice" in found:
        lines.append(("", found["advice"]))
    if functions:
        lines += reach_lines(found) + state_lines(functions)
    for rule, names in grouped((row["rule"], row["name"]) for row in found["left_alone"]).items():
        lines.append(("left alone", f"{some(names)}: {rule}"))
    if found["imports"]:
        lines.append(("calls", f"{some(row['name'] for row in found['imports'])}, which other objects define"))
        unknown = [row["name"] for row in found["imports"] if not row["preload"]]
        if unknown:
            lines.append(("", f"preload does not know these names: {some(unknown)}"))
    return lines


def heading(found: Document) -> str:
    """Which object, and which BLAS it holds."""
    stripped = ", stripped" if found["stripped"] and found["linkage"] != "shared_object" else ""
    holds = ""
    if found["functions"]:
        known = found["library"] or "a BLAS of unknown make"
        holds = f": {known}" if found["linkage"] == "shared_object" else f"; {known} is linked into it"
    what = "" if found["linkage"] == "shared_object" and holds else f": {LINKAGES[found['linkage']]} for {found['machine']}{stripped}"
    when = f" (loaded by {found['loaded_by']})" if "loaded_by" in found else ""
    return f"{found['path']}{what}{holds}{when}"


def facts(found: Document) -> Lines:
    """The lines before the objects."""
    lines = [("script", script) for script in found["scripts"]]
    lines += [("missing", f"{name}: not found by the program's dynamic loader") for name in found["missing"]]
    if process := found["process"]:
        command = " ".join(" ".join(process["command_line"]).split()) or found["target"]
        lines.append(("process", f"{process['pid']}: {command[:SHOWN_LENGTH]}{'...' if len(command) > SHOWN_LENGTH else ''}"))
        lines.append(("Blastoff", process["blastoff"] or "not loaded"))
        if not process["memory_read"]:
            lines.append(("memory", "permission denied (kernel.yama.ptrace_scope): which functions are patched now is unknown"))
        lines += [("deleted", f"{path}: the file was deleted and could not be read") for path in process["gone"]]
    return lines


def print_document(found: Document) -> None:
    """Prints the whole document; for a program without a dynamic loader, only the one line that matters."""
    if found["refused"] and found["objects"][0]["linkage"] == "static_executable":
        functions = found["counts"]["functions"]
        held = f"; the {functions} BLAS functions in it cannot be intercepted" if functions else ""
        print(f"{found['target']}: {found['refused']}{held}")
        return
    shown: list[str] = []
    if lines := facts(found):
        shown += [*terminal.pairs(lines), ""]
    for one in found["objects"]:
        lines = object_lines(one) or [("BLAS", "none defined, none called")]
        shown += [*in_bold(heading(one)), *terminal.pairs(lines, "  "), ""]
    if found["process"] is None and not found["refused"] and found["objects"][0]["linkage"] != "shared_object":
        later = SCRIPTS if found["scripts"] else LATER
        others = any("loaded_by" in one for one in found["objects"])
        shown += [*terminal.wrapped(f"Other {later[0].lower()}{later[1:]}" if others else later), ""]
    terminal.show([*shown, *in_bold(found["verdict"])])


def in_bold(text: str) -> list[str]:
    return [terminal.styled(line, "bold") for line in terminal.wrapped(text)]
