"""`blastoff inspect`: programs linked in every way, running processes, and programs that cannot be helped."""

import importlib.util
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import jsonschema
import offload
import pytest
from blastoff.errors import CommandError
from blastoff.inspect import command, dependencies, processes, view

SCHEMA = json.loads((offload.ROOT / "share" / "inspect.schema.json").read_text())

# Two routines that call another function, as those of a BLAS do, an internal function, and names that show that this is a BLAS.
TOY_BLAS = """
#include <stdlib.h>
const char *openblas_get_config(void) { return "toy"; }
int idamax_(const int *n, const double *x, const int *step) {
  int largest = 0;
  for (int i = 1; i < *n; ++i) if (x[i * *step] > x[largest * *step]) largest = i;
  return *n > 0 ? largest + 1 : 0;
}
void dgemm_(const char *a, const char *b, const int *m) { if (*m < 0) abort(); }
void cblas_ztrsm(int order, int side, int m) { if (m < 0) abort(); }
__attribute__((visibility("hidden"))) void ssymm_(const char *a, const char *b, const int *m) { if (*m < 0) abort(); }
void *keep[] = {(void *)ssymm_};
"""
USER = """
void dgemm_(const char *, const char *, const int *);
void cblas_ztrsm(int, int, int);
int main(void) { int one = 1; dgemm_("N", "N", &one); cblas_ztrsm(1, 1, 1); return 0; }
"""
OPENER = """
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **words) {
  for (int i = 1; i < count; ++i) if (!dlopen(words[i], RTLD_NOW | RTLD_LOCAL)) fprintf(stderr, "%s\\n", dlerror());
  puts("ready"); fflush(stdout);
  return getchar() == EOF;
}
"""


class Workshop:
    """Compiles programs and libraries into one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def build(self, name: str, source: str, *options: str) -> Path:
        path = self.directory / name
        code = self.directory / f"{name}.c"
        code.write_text(source)
        subprocess.run(["gcc", "-O1", str(code), *options, "-o", str(path)], check=True)
        return path

    def shared_object(self, name: str = "libtoyblas.so") -> Path:
        return self.build(name, TOY_BLAS, "-shared", "-fPIC", f"-Wl,-soname,{name}")

    def static(self, name: str, *options: str) -> Path:
        return self.build(name, TOY_BLAS + USER.replace("int main", "\nint main"), *options)


@pytest.fixture
def workshop(tmp_path) -> Workshop:
    return Workshop(tmp_path)


@pytest.fixture
def inspect(blastoff):
    """Inspects a program. Returns the document, checked against the schema, and the exit status."""

    def run(*arguments: object, **options) -> dict:
        done = blastoff("inspect", "--json", *arguments, **options)
        assert done.stderr == ""
        found = json.loads(done.stdout)
        jsonschema.Draft202012Validator(SCHEMA).validate(found)
        return found | {"status": done.returncode}

    return run


def functions_of(found: dict) -> dict[str, dict]:
    """The functions of all objects by their first name."""
    return {function["names"][0]: function for one in found["objects"] for function in one["functions"]}


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_a_dynamically_linked_program(workshop, inspect, blastoff):
    library = workshop.shared_object()
    program = workshop.build("dynamic", USER, str(library), f"-Wl,-rpath,{library.parent}")
    found = inspect(program)
    assert (found["status"], found["refused"], found["missing"]) == (0, "", [])
    assert found["objects"][0]["linkage"] == "dynamic_executable"
    assert [row["name"] for row in found["objects"][0]["imports"]] == ["cblas_ztrsm", "dgemm_"]
    functions = functions_of(found)
    assert {name: (one["routine"], one["style"], one["exported"], one["patch"], one["preload"]) for name, one in functions.items()} == {
        "dgemm_": ("dgemm", "fortran", True, True, True),
        "cblas_ztrsm": ("ztrsm", "cblas", True, True, True),
        "ssymm_": ("ssymm", "fortran", False, True, False),
    }
    assert found["counts"] == {"functions": 3, "auto": 3, "patch": 3, "preload": 2, "patched_now": 0}
    text = blastoff("inspect", program).stdout
    for part in ("cblas_ztrsm dgemm_, which other objects define", "d: gemm", "1 are not exported", "3 of 3 BLAS functions", "--pid"):
        assert part in text, text


@pytest.mark.parametrize(("integer", "width"), [("int", "lp64"), ("long", "ilp64")])
def test_integers_are_told_by_the_code_whatever_the_librarys_name(workshop, inspect, integer, width):
    source = TOY_BLAS.replace("const int *m", f"const {integer} *m")
    found = inspect(workshop.build("libopenblas64.so", source, "-shared", "-fPIC"))
    assert found["objects"][0]["library"] == "OpenBLAS"
    assert functions_of(found)["dgemm_"]["integers"] == width


def test_a_library_that_is_missing(workshop, inspect, blastoff):
    library = workshop.shared_object()
    program = workshop.build("dynamic", USER, str(library))
    library.unlink()
    found = inspect(program)
    assert (found["status"], found["missing"]) == (1, ["libtoyblas.so"])
    assert "libtoyblas.so: not found" in blastoff("inspect", program).stdout


@pytest.mark.parametrize("options", [[], ["-rdynamic"], ["-no-pie"]])
def test_a_blas_linked_in_statically(workshop, inspect, options):
    found = inspect(workshop.static("program", *options))
    assert found["status"] == 0
    assert set(functions_of(found)) == {"dgemm_", "cblas_ztrsm", "ssymm_"}
    assert all(function["patch"] and not function["preload"] for function in functions_of(found).values())


def test_a_stripped_program_says_that_nothing_is_left_to_find(workshop, blastoff):
    done = blastoff("inspect", workshop.static("program", "-s"))
    assert done.returncode == 1
    assert "stripped" in done.stdout and "linked into it statically" in done.stdout


def test_no_blas_and_not_stripped(workshop, blastoff):
    done = blastoff("inspect", workshop.build("program", "int main(void) { return 0; }"))
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "No BLAS was found."


@pytest.mark.parametrize("options", [["-static"], ["-static-pie"]])
def test_a_static_program_is_one_line(workshop, blastoff, inspect, options):
    program = workshop.static("program", *options)
    done = blastoff("inspect", program)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == f"{program}: statically linked, so nothing can be preloaded into it; the 3 BLAS functions in it cannot be intercepted\n"
    assert inspect(program)["objects"][0]["linkage"] == "static_executable"


def test_a_function_of_the_programs_own(workshop, blastoff, inspect):
    program = workshop.build("program", "double dgemm(double x) { return x + 1; } int main(int n, char **w) { return dgemm(n) < 0; }")
    found = inspect(program)
    assert found["status"] == 1 and functions_of(found) == {}
    assert [row["name"] for row in found["objects"][0]["left_alone"]] == ["dgemm"]
    text = blastoff("inspect", program).stdout
    assert "left alone" in text and "are left alone" in text


def test_why_a_function_cannot_be_patched(workshop, blastoff, inspect):
    library = workshop.build(
        "libleaf.so", "void dgemm_(long *n) { for (long i = 0; i < n[0]; ++i) n[i] = n[i + 1] * n[i] - 77777; }", "-shared", "-fPIC"
    )
    trusting = {"BLASTOFF_TRUST": "dgemm_"}
    assert [left["name"] for left in inspect(library)["objects"][0]["left_alone"]] == ["dgemm_"]
    function = functions_of(inspect(library, env=trusting))["dgemm_"]
    assert (function["patch"], function["preload"], function["obstacle"]) == (False, True, "leaf function")
    text = blastoff("inspect", library, env=trusting).stdout
    assert f"not dgemm_: leaf function ({function['explanation']})" in " ".join(text.split())
    assert "intercepts 1 by name" in text and "0 by patching, 1 by name" in text


@pytest.mark.parametrize("first_line", ["#!{program}", "#!/usr/bin/env program", "#!/usr/bin/env -S program -x"])
def test_a_script(workshop, inspect, blastoff, tmp_path, first_line):
    program = workshop.static("program")
    script = tmp_path / "script"
    script.write_text(first_line.format(program=program) + "\nwhatever\n")
    script.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    found = inspect("script", "argument", "--pid", env=environment)
    assert found["scripts"] == [str(script)]
    assert found["objects"][0]["path"] == str(program) and found["status"] == 0
    assert "other programs that a script starts" in " ".join(blastoff("inspect", "script", env=environment).stdout.split())


@pytest.mark.parametrize("executable", [True, False])
def test_a_python_script_shows_what_numpy_loads(inspect, blastoff, tmp_path, executable):
    numpy = importlib.util.find_spec("numpy")
    script = tmp_path / "train.py"
    script.write_text(f"#!{sys.executable}\nraise SystemExit('was run')\n" if executable else "raise SystemExit('was run')\n")
    script.chmod(0o755 if executable else 0o644)
    environment = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    found = inspect(script, env=environment)
    assert found["scripts"] == [str(script)]
    loaded = [one for one in found["objects"] if one.get("loaded_by") == "numpy"]
    assert any(one["functions"] for one in loaded) == (numpy is not None)
    assert found["status"] == (0 if numpy else 1)
    assert "(loaded by numpy)" in blastoff("inspect", script, env=environment).stdout


def test_a_python_without_packages(inspect, tmp_path):
    (tmp_path / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    (tmp_path / "python3").chmod(0o755)
    found = inspect("python3", env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert found["verdict"] == "No BLAS was found: this Python has neither NumPy nor SciPy." and found["status"] == 1


def test_r_is_a_shell_script_that_starts_a_program(inspect, tmp_path):
    if shutil.which("R") is None:
        pytest.skip("R is not installed")
    found = inspect("R")
    assert any(one["path"].endswith("/bin/exec/R") or "libR.so" in one["path"] for one in found["objects"] if one.get("loaded_by") == "R")
    assert found["status"] == 0


def test_what_is_neither_program_nor_script(blastoff, tmp_path):
    for name, content in (("words", "echo hello\n"), ("broken", "\x7fELF")):
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(0o755)
        done = blastoff("inspect", f"./{name}")
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), name


@pytest.mark.parametrize("arguments", [[], ["--pid", "1", "true"], ["no-such-program"], ["/"], ["--pid", "0"], ["--pid", "4194305"]])
def test_nothing_to_look_at(blastoff, arguments):
    done = blastoff("inspect", *arguments)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)


def test_a_setuid_program(workshop, blastoff):
    if os.geteuid() != 0:
        pytest.skip("needs root to make a setuid program of someone else's")
    program = workshop.static("program")
    os.chown(program, 65534, 65534)
    program.chmod(0o755 | stat.S_ISUID)
    done = blastoff("inspect", program)
    assert done.returncode == 1 and "a setuid program, for which the system ignores LD_PRELOAD" in done.stdout
    assert "patches 3" in done.stdout, "what would be found is told all the same"


def test_musl(workshop, blastoff):
    program = workshop.build("program", USER + TOY_BLAS, "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1")
    for name in ("inspect", "run"):
        done = blastoff(name, program)
        assert done.returncode == (1 if name == "inspect" else 2)
        assert "linked with musl" in done.stdout + done.stderr


def test_paths_are_printed_as_they_are(workshop, blastoff, tmp_path):
    """Square brackets, which are markup for the printing library, are printed unchanged."""
    (tmp_path / "[bold]").mkdir()
    library = workshop.shared_object()
    moved = library.rename(tmp_path / "[bold]" / library.name)
    assert str(moved) in blastoff("inspect", moved).stdout.replace("\n", "")


@pytest.fixture
def running(workshop):
    """Starts a program that opens libraries and waits. Returns its process id."""
    started = []

    def run(*libraries: Path, preload: Path | None = None, **settings: str) -> int:
        program = workshop.build("opener", OPENER)
        environment = offload.environment(None, **({"LD_PRELOAD": str(preload)} if preload else {}), **settings)
        process = subprocess.Popen([program, *libraries], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "ready\n"
        return process.pid

    yield run
    for process in started:
        process.communicate("\n")
        assert process.returncode == 0, "it was only looked at"


def states(found: dict) -> dict[str, str | None]:
    return {name: function["state"] for name, function in functions_of(found).items()}


def test_a_process_without_blastoff(workshop, inspect, blastoff, running):
    library = workshop.shared_object()
    pid = running(library)
    found = inspect("--pid", pid)
    assert found["status"] == 0 and found["process"]["blastoff"] is None
    assert found["process"]["command_line"][1:] == [str(library)]
    assert states(found) == dict.fromkeys(("dgemm_", "cblas_ztrsm", "ssymm_"), "as in file")
    assert "Blastoff is not loaded in this process" in blastoff("inspect", "--pid", pid).stdout


@pytest.mark.parametrize(("mode", "state"), [("auto", "patched"), ("patch", "patched"), ("preload", "as in file")])
def test_a_process_with_blastoff(workshop, inspect, blastoff, running, mode, state):
    library = workshop.shared_object()
    pid = running(library, preload=offload.LIBRARY, BLASTOFF_INTERCEPT=mode)
    found = inspect("--pid", pid)
    assert found["process"]["blastoff"] == str(offload.LIBRARY)
    assert str(offload.LIBRARY) not in [one["path"] for one in found["objects"]]
    assert states(found) == dict.fromkeys(("dgemm_", "cblas_ztrsm", "ssymm_"), state)
    patched = 3 if state == "patched" else 0
    assert f"{patched} of 3 BLAS functions are patched now" in blastoff("inspect", "--pid", pid).stdout


def test_a_program_that_was_deleted(workshop, inspect, running):
    library = workshop.shared_object()
    pid = running(library)
    (workshop.directory / "opener").unlink()
    library.unlink()
    found = inspect("--pid", pid)
    assert found["process"]["gone"] == [str(library)]
    assert found["objects"][0]["path"].endswith("opener (deleted)")


def test_memory_that_may_not_be_read(workshop, running, monkeypatch, capsys):
    monkeypatch.setenv("BLASTOFF_LIBRARY", str(offload.LIBRARY))
    pid = running(workshop.shared_object(), preload=offload.LIBRARY)
    monkeypatch.setattr(processes, "open_memory", lambda pid: None)
    assert command.show(None, pid, as_json=False) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "which functions are patched now is unknown" in text and "the memory cannot be read" in text


def test_a_process_that_may_not_be_read(monkeypatch):
    def refuse(path):
        raise PermissionError(path)

    monkeypatch.setattr(os, "readlink", refuse)
    with pytest.raises(CommandError, match="process 1: permission denied") as caught:
        command.show(None, 1, as_json=False)
    assert caught.value.status == 2


def test_a_file_loaded_twice_and_read_once():
    """The file is loaded in two linker namespaces, and a third mapping only reads it."""
    mappings = [(0x1000, False, 0), (0x2000, True, 0x1000), (0x5000, False, 0), (0x6000, True, 0x1000), (0x9000, False, 0)]
    assert processes.instances([processes.Mapping(*row, "/lib/x.so") for row in mappings], 0) == [0x1000, 0x5000]


LISTING = r"\tlinux-vdso.so.1 (0x7f00)\n\tliba b.so => /lib/a b.so (0x7f01)\n\t./c.so (0x7f02)\n\t/lib64/ld.so (0x7f03)\n\tlibd.so => not found"


def test_libraries_as_loaders_list_them(workshop, tmp_path):
    # The fake loader is static, since the variable that asks for a list of libraries would otherwise reach its own loader.
    loader = workshop.build("ld-linux.so", f'#include <stdio.h>\nint main(void) {{ return puts("{LISTING}") < 0; }}', "-static")
    libraries = dependencies.list_libraries(tmp_path / "program", str(loader))
    assert libraries.paths == ["/lib/a b.so", "./c.so", "/lib64/ld.so"]
    assert (libraries.missing, libraries.error) == (["libd.so"], "")
    assert "cannot be asked" in dependencies.list_libraries(tmp_path / "program", "/no/such/ld-linux.so").error


def test_another_libcs_loader_is_not_asked(tmp_path):
    """The loader of another C library might run the program."""
    libraries = dependencies.list_libraries(tmp_path / "program", "/lib/ld-uClibc.so.0")
    assert "not glibc's" in libraries.error


def test_routines_in_few_words():
    assert view.routines(["dgemm", "zherk", "zgemm", "dgemm"]) == "dz: gemm; z: herk"
    assert view.routines(["pdgemm", "pzgemm", "dpotrf", "pdpotrf"]) == "d: potrf ppotrf; dz: pgemm"
    assert view.some(f"f{i}" for i in range(10)) == "f0 f1 f2 f3 f4 f5 f6 f7 and 2 more"


def test_fftw_and_its_functions_are_named(capsys):
    found = list(offload.LIBRARIES.rglob("libfftw3.so.3"))
    if not found:
        pytest.skip("FFTW is not installed")
    command.run([str(found[0])])
    printed = capsys.readouterr().out
    assert ": FFTW" in printed
    assert "FFTW     49 functions: fftw_" in printed


@pytest.mark.parametrize(("pattern", "name", "integers"), [
    ("libscalapack*.so.*", "ScaLAPACK", "32-bit integers (LP64)"),
    ("libmkl_scalapack_lp64.so.*", "MKL", "32-bit integers (LP64)"),
    ("libmkl_scalapack_ilp64.so.*", "MKL", "64-bit integers (ILP64)"),
])  # fmt: skip
def test_scalapack_and_its_functions_are_named(capsys, pattern, name, integers):
    found = [path for directory in (Path("/usr/lib"), Path(sys.prefix) / "lib") for path in directory.rglob(pattern)]
    if not found:
        pytest.skip(f"there is no {pattern}")
    command.run([str(found[0])])
    printed = capsys.readouterr().out
    assert f": {name}" in printed
    assert re.search(rf"Fortran +\d+ functions, {re.escape(integers)}: sdcz: pgels pgemm", printed), printed


def test_interfaces_of_transforms_are_told_from_calling_styles():
    functions = [
        {"names": [name], "routine": name, "style": "cblas", "integers": "lp64"}
        for name in ("fftw_execute", "DftiComputeForward", "dfti_compute_forward_z_")
    ]
    assert view.style_lines(functions) == [("DFTI", "2 functions: DftiComputeForward dfti_compute_forward_z_"), ("FFTW", "1 functions: fftw_execute")]
