"""How a program or a process gets its BLAS, and which interceptor reaches which function."""

import ctypes
import json
import os
from pathlib import Path
from typing import Any

from blastoff import elf, executable, kernels, library
from blastoff.errors import CommandError
from blastoff.inspect import dependencies, interpreters, processes
from blastoff.inspect.processes import LoadedFile

Document = dict[str, Any]
"""A document that follows share/inspect.schema.json."""

OURSELVES = "Blastoff"
"""The name that the library gives itself among BLAS libraries."""


def look_at_file(path: Path) -> Document:
    """What the library finds in a file, without any process."""
    text = library.ask(library.find_library(), "blastoff_inspect_json", ctypes.c_char_p(os.fsencode(path)))
    return json.loads(text)


def look_at_loaded(loaded: LoadedFile, memory: int | None) -> Document:
    """What the library finds in the file, and in the process's memory if that may be read."""
    if memory is None:
        return look_at_file(loaded.file)
    arguments = ctypes.c_char_p(os.fsencode(loaded.file)), ctypes.c_int(memory), ctypes.c_ulong(loaded.bias)
    return json.loads(library.ask(library.find_library(), "blastoff_inspect_memory_json", *arguments))


TELLING = ("OpenBLAS", "BLIS", "MKL", "ATLAS", "reference BLAS")
"""Libraries that can tell which kernels they use."""
OF_MKL = "passes its calls on to MKL's interface layer"
"""A rule of src/intercept/symbols/blas_functions.cpp."""


def kernels_of(found: Document) -> Document:
    """What a library says about the kernels that it uses on this CPU. A process of its own loads it and asks."""
    loads_others = loads_mkl(found)
    tells = found["library"] in TELLING and found["functions"]
    if not found["native"] or found["linkage"] != "shared_object" or not (tells or loads_others):
        return {}
    path = Path(found["path"]).absolute()
    told = next((one for one in kernels.of_library(path) if loads_others or Path(one.path).resolve() == path.resolve()), None)
    if told is None:
        return {}
    return {"kernels": told.text} | ({"advice": told.advice} if told.advice else {})


def loads_mkl(found: Document) -> bool:
    """Whether the object is MKL's single library, which loads the libraries that define BLAS at its first call."""
    return any(row["rule"] == OF_MKL for row in found["left_alone"])


def concerns_blas(found: Document) -> bool:
    return "error" not in found and bool(found["functions"] or found["left_alone"] or found["imports"])


def counts(objects: list[Document]) -> dict[str, int]:
    """The number of functions, and how many of them each value of --intercept reaches."""
    functions = [function for found in objects for function in found["functions"]]
    return {
        "functions": len(functions),
        "auto": sum(function["patch"] or function["preload"] for function in functions),
        "patch": sum(function["patch"] for function in functions),
        "preload": sum(function["preload"] for function in functions),
        "patched_now": sum(function["state"] == "patched" for function in functions),
    }


def document(**parts: Any) -> Document:
    """A document with all keys; those that do not apply are null or empty."""
    empty = {"scripts": [], "loader": None, "refused": "", "missing": [], "process": None}
    return {"blastoff": library.version(), **empty, **parts}


def inspect_program(name: str) -> Document:
    """A program, a script, or a library's file."""
    program = find_file(name)
    try:
        file, scripts = dependencies.resolve_scripts(program)
        headers = elf.read(file)
        found = look_at_file(file)
    except PermissionError as error:
        raise CommandError(f"{program}: permission denied") from error
    if "error" in found:
        raise CommandError(found["error"])
    is_library = found["linkage"] == "shared_object"
    refused = "" if is_library and headers.native else executable.why_not_preloadable(file)
    loader = headers.interpreter or own_loader()
    may_list = headers.native and (is_library or headers.interpreter)
    libraries = dependencies.list_libraries(file, loader) if may_list else dependencies.Libraries()
    objects = [{"path": str(file), **found}]
    for path in libraries.paths:
        needed = look_at_file(Path(path))
        if concerns_blas(needed) and needed["library"] != OURSELVES:
            objects.append({"path": path, **needed})
    objects += later_objects([*scripts, program, file], loader, {str(Path(one["path"]).resolve()) for one in objects})
    objects = [one | kernels_of(one) for one in objects]
    return document(
        target=name,
        scripts=[str(script) for script in scripts],
        loader=headers.interpreter,
        refused=refused or libraries.error,
        missing=libraries.missing,
        objects=objects,
        counts=counts(objects),
    )


def later_objects(programs: list[Path], loader: str, known: set[str]) -> list[Document]:
    """The BLAS objects that an interpreter among the programs loads while it runs, with the libraries that these need; without those in `known`."""
    modules = interpreters.libraries_of(interpreters.later_modules(programs), loader)
    looked_at = [(module, look_at_file(module.path)) for module in modules if str(module.path.resolve()) not in known]
    return [
        {"path": str(module.path), "loaded_by": module.package, **found}
        for module, found in looked_at
        if concerns_blas(found) and found["library"] != OURSELVES
    ]


def find_file(name: str) -> Path:
    """A program as the shell would find it, or the file of a library, which need not be executable."""
    path = Path(name)
    if "/" in name and path.is_file() and os.access(path, os.R_OK) and elf.is_elf(path):
        return path
    if path.suffix in dependencies.BY_SUFFIX and path.is_file() and not os.access(path, os.X_OK):
        return path
    return executable.find_program(name)


def own_loader() -> str:
    """The dynamic loader that lists what a library needs: the one that started this Python."""
    return elf.read(Path("/proc/self/exe")).interpreter or "/lib64/ld-linux-x86-64.so.2"


def inspect_process(pid: int) -> Document:
    """A running process, which is not disturbed."""
    loaded, gone = processes.loaded_files(pid)
    memory = processes.open_memory(pid)
    try:
        looked_at = [(one.path, look_at_loaded(one, memory)) for one in loaded]
    finally:
        if memory is not None:
            os.close(memory)
    if not looked_at or "error" in looked_at[0][1]:
        raise CommandError(f"process {pid}: {looked_at[0][1]['error'] if looked_at else 'its program cannot be read, or it has ended'}")
    ours = [path for path, found in looked_at if found.get("library") == OURSELVES]
    program, *others = [{"path": path, **found} for path, found in looked_at if path not in ours and "error" not in found]
    objects = [program, *(found for found in others if concerns_blas(found))]
    process = {
        "pid": pid,
        "command_line": processes.command_line(pid),
        "blastoff": ours[0] if ours else None,
        "memory_read": memory is not None,
        "gone": gone,
    }
    return document(target=program["path"], objects=objects, process=process, counts=counts(objects))


def verdict(found: Document) -> str:
    """The sentence that sums up the document."""
    process, sums = found["process"], found["counts"]
    if found["refused"]:
        return f"Nothing can be intercepted: {found['refused']}."
    if sums["functions"] == 0:
        return no_blas(found)
    by_name = sums["auto"] - sums["patch"]
    ways = f"{sums['patch']} by patching" + (f", {by_name} by name" if by_name else "")
    reached = f"{sums['auto']} of {sums['functions']} BLAS functions can be intercepted: {ways}"
    if sums["auto"] == 0:
        return f"BLAS was found, but none of its {sums['functions']} functions can be intercepted."
    if process is None:
        return f"{reached}."
    if process["blastoff"] is None:
        return f"Blastoff is not loaded in this process. With it, {reached}."
    if not process["memory_read"]:
        return f"Blastoff is loaded here. {reached}. Which of them are patched now is unknown, because the memory cannot be read."
    return f"Blastoff is loaded here: {sums['patched_now']} of {sums['functions']} BLAS functions are patched now."


def no_blas(found: Document) -> str:
    """The sentence for a program or process without BLAS."""
    program = found["objects"][0]
    if any(loads_mkl(one) for one in found["objects"]):
        return "MKL's single library (libmkl_rt) loads the libraries that define BLAS at the program's first call. Blastoff patches them then."
    if program["left_alone"]:
        return "No BLAS was found. Functions that merely have the names of BLAS routines are left alone."
    if found["process"] is None and any(interpreters.is_python(Path(path)) for path in (*found["scripts"], found["target"], program["path"])):
        return "No BLAS was found: this Python has neither NumPy nor SciPy."
    stripped = program["stripped"] and program["linkage"] != "shared_object"
    hidden = " The program is stripped: a BLAS that was linked into it statically cannot be recognised." if stripped else ""
    return f"No BLAS was found.{hidden}"


def exit_status(found: Document) -> int:
    """0 if BLAS was found that can be intercepted, or will be there once the program runs; else 1."""
    some = found["counts"]["auto"] > 0 or any(loads_mkl(one) for one in found["objects"])
    return 0 if some and not found["refused"] else 1
