"""dlopen() searches the folders of its caller: DT_RUNPATH, DT_RPATH, $ORIGIN. With Blastoff in between, it must open the same files, and give
the same message if it opens none."""

from dataclasses import dataclass, field

import linking
import pytest
from linking import EVERYWHERE

OLD = "-Wl,--disable-new-dtags"
NEW = "-Wl,--enable-new-dtags"


@dataclass(frozen=True)
class Case:
    names: list[str]
    """The names to open. {} stands for the directory with all files."""
    program: list[str] = field(default_factory=list)
    """Linker flags of the program."""
    opener: list[str] = field(default_factory=list)
    """Linker flags of the library that opens files for the program, in the folder lib."""
    path: str = ""
    """The value of LD_LIBRARY_PATH."""


def path(tags: str, *directories: str) -> list[str]:
    return [tags, *(f"-Wl,-rpath,{directory}" for directory in directories)]


CASES = {
    "nowhere": Case(["libtoy.so"]),
    "runpath": Case(["libtoy.so"], program=path(NEW, "{}/one", "{}/two")),
    "second directory of the runpath": Case(["libonly.so", "libtoy.so"], program=path(NEW, "{}/one", "{}/two")),
    "runpath from the origin": Case(["libtoy.so"], program=path(NEW, "$ORIGIN/two")),
    "runpath with a slash too many": Case(["libtoy.so"], program=path(NEW, "{}/one//")),
    "runpath, relative": Case(["libtoy.so"], program=path(NEW, "one")),
    "runpath of nothing": Case(["libtoy.so"], program=path(NEW, "")),
    "runpath after LD_LIBRARY_PATH": Case(["libtoy.so"], program=path(NEW, "{}/one"), path="{}/two"),
    "rpath": Case(["libtoy.so"], program=path(OLD, "{}/one")),
    "rpath before LD_LIBRARY_PATH": Case(["libtoy.so"], program=path(OLD, "{}/one"), path="{}/two"),
    "LD_LIBRARY_PATH": Case(["libtoy.so"], path="{}/two:{}/one"),
    "origin in the name": Case(["$ORIGIN/one/libtoy.so", "${ORIGIN}/two/libtoy.so", "$ORIGINAL/libtoy.so", "${ORIGIN/libtoy.so"]),
    "origin and nothing there": Case(["$ORIGIN/three/libtoy.so", "one/libtoy.so:$ORIGIN", "$ORIGIN"]),
    "other tokens": Case(["one$LIB/libtoy.so", "$PLATFORM/libtoy.so", "$ORIGIN/$LIB/libtoy.so"], program=path(NEW, "{}/$LIB")),
    "a path": Case(["{}/one/libtoy.so", "two/libtoy.so", "./two/libtoy.so", "one/../two/libtoy.so"]),
    "library's runpath": Case(["library:", "libtoy.so"], program=path(NEW, "{}/one"), opener=path(NEW, "{}/two")),
    "program's runpath is not the library's": Case(["library:", "libtoy.so"], program=path(NEW, "{}/one")),
    "program's rpath is the library's": Case(["library:", "libtoy.so"], program=path(OLD, "{}/one")),
    "program's rpath, but not beside a runpath": Case(["library:", "libtoy.so"], program=path(OLD, "{}/one"), opener=path(NEW, "{}/three")),
    "library's rpath, then the program's": Case(["library:", "libtoy.so", "libonly.so"], program=path(OLD, "{}/two"), opener=path(OLD, "{}/one")),
    "library's origin": Case(["library:", "$ORIGIN/../one/libtoy.so", "libtoy.so"], opener=path(NEW, "$ORIGIN/../one")),
    "loaded already": Case(["{}/two/libtoy.so", "libtoy.so", "loaded:libtoy.so"], program=path(NEW, "{}/one")),
    "loaded already, without a name of its own": Case(["{}/two/libbare.so", "libbare.so"], program=path(OLD, "{}/one"), path="{}/two"),
    "loaded already, but its caller finds another": Case(["library:", "{}/two/libbare.so", "libbare.so"], opener=path(OLD, "{}/one"), path="{}/two"),
    "for this processor": Case(["libtuned.so", "libtoy.so"], program=path(NEW, "{}/tuned", "{}/one")),
    "found by its caller, then by another": Case(["libtoy.so", "loaded:libtoy.so", "{}/two/libtoy.so"], program=path(NEW, "{}/one")),
    "not loaded": Case(["loaded:libtoy.so", "loaded:{}/one/libtoy.so"], program=path(NEW, "{}/one")),
    "no library": Case(["libtext.so", "libtoy.so"], program=path(NEW, "{}/text", "{}/one")),
    "no library, another behind it": Case(["libtoy.so"], program=path(NEW, "{}/text", "{}/one")),
    "a directory of that name": Case(["libfolder.so"], program=path(NEW, "{}/text", "{}/one")),
    "a program of that name": Case(["program"], program=path(NEW, "{}")),
    "a library of another machine": Case(["libforeign.so"], program=path(NEW, "{}/text", "{}/one")),
    "without its dependency": Case(["libdependent.so"], program=path(NEW, "{}/lib")),
    "dependency in the program's rpath": Case(["libdependent.so"], program=path(OLD, "{}/lib", "{}/one")),
    "dependency in the library's rpath": Case(["library:", "libdependent.so"], opener=path(OLD, "{}/lib", "{}/one")),
    "dependency in LD_LIBRARY_PATH": Case(["libdependent.so"], program=path(NEW, "{}/lib"), path="{}/two"),
}


@pytest.fixture(scope="session")
def libraries(tmp_path_factory):
    """The libraries one/libtoy.so, two/libtoy.so, ..."""
    workshop = linking.Workshop(tmp_path_factory.mktemp("search"))
    for folder, name in [("one", "toy"), ("two", "toy"), ("two", "only"), ("one", "foreign")]:
        workshop.shared_object(f"{folder}/{name}", "search/toy.c", flags=[f'-DNAME="{folder}"'])
    for folder in ("one", "two"):
        workshop.shared_object(f"{folder}/bare", "search/toy.c", flags=[f'-DNAME="{folder}"'], soname=False)
    workshop.shared_object("tuned/tuned", "search/toy.c", flags=['-DNAME="any processor"'])
    if linking.machine() == "x86_64":
        (workshop.directory / "tuned" / "glibc-hwcaps").mkdir()
        workshop.shared_object("tuned/glibc-hwcaps/x86-64-v2/tuned", "search/toy.c", flags=['-DNAME="this processor"'])
    workshop.shared_object("lib/blas", "common/blas.c", soname=False)
    workshop.shared_object("lib/dependent", "search/dependent.c", flags=[f"-L{workshop.directory}/one", "-ltoy"])
    text = workshop.directory / "text"
    text.mkdir()
    (text / "libtext.so").write_text("no library, and long enough to hold the header of one: " + "x" * 100)
    (text / "libtoy.so").write_text("short")
    (text / "libfolder.so").mkdir()
    foreign = bytearray((workshop.directory / "one" / "libforeign.so").read_bytes())
    foreign[18] = 8  # e_machine: MIPS
    (text / "libforeign.so").write_bytes(foreign)
    return workshop


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_opened(libraries, case):
    here = str(libraries.directory)

    def placed(texts):
        return [text.replace("{}", here) for text in texts]

    # Linked by full paths, so that the program needs no search path to start.
    flags = ["-Dopening=opening_in_library", "-ldl", *placed(case.opener)]
    library = libraries.shared_object("lib/opening", "search/opening.c", flags=flags, soname=False)
    flags = [str(library), f"{here}/lib/libblas.so", "-ldl", *placed(case.program)]
    program = libraries.program("program", "search/program.c", "search/opening.c", flags=flags)
    env = linking.environment(**({"LD_LIBRARY_PATH": placed([case.path])[0]} if case.path else {}))
    linking.check([program, *placed(case.names)], EVERYWHERE, env=env, cwd=libraries.directory)
