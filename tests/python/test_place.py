"""`blastoff run --place` and `--align`: which libraries are preloaded, and with what settings."""

import shutil

import offload
import pytest
from blastoff import glibc
from command_rig import clean_environment
from linking import Workshop
from sandbox import refusing

ALLOCATOR = offload.BUILD / "libblastoff-allocator.so"
BOTH = f"{offload.LIBRARY}:{ALLOCATOR}"
PRINT_ENVIRONMENT = ["/usr/bin/env"]


@pytest.fixture
def environment_of(blastoff):
    """The environment in which `blastoff run` starts a program."""

    def run(*options: str, **env: str) -> dict[str, str]:
        done = blastoff("run", "--summary=never", *options, *PRINT_ENVIRONMENT, env=env)
        assert (done.returncode, done.stderr) == (0, "")
        return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)

    return run


@pytest.mark.parametrize(
    ("options", "place", "align"),
    [
        (["--place=at-malloc"], "at-malloc", None),
        (["--place", "at-malloc=256K"], "at-malloc=256K", None),
        (["--align"], None, "1M"),
        (["--align=4K", "--place=none"], "none", "4K"),
    ],
)
def test_the_interposer_is_preloaded_when_asked_for(environment_of, options, place, align):
    environment = environment_of(*options)
    assert environment["LD_PRELOAD"] == BOTH
    assert (environment.get("BLASTOFF_PLACE"), environment.get("BLASTOFF_ALIGN")) == (place, align)


def test_variables_ask_for_it_too(environment_of):
    assert environment_of(BLASTOFF_PLACE="at-malloc=3M")["LD_PRELOAD"] == BOTH
    assert environment_of(BLASTOFF_ALIGN="1M")["LD_PRELOAD"] == BOTH


def test_not_otherwise(environment_of):
    for options in ([], ["--place=huge-pages"], ["--place=none"]):
        assert environment_of(*options)["LD_PRELOAD"] == str(offload.LIBRARY)


def test_an_existing_preload_comes_last(environment_of):
    assert environment_of("--align", LD_PRELOAD="libm.so.6")["LD_PRELOAD"] == f"{BOTH}:libm.so.6"


def test_align_takes_a_value_only_after_the_equals_sign(environment_of):
    assert environment_of("--align")["BLASTOFF_ALIGN"] == "1M"
    assert environment_of("--align=2M")["BLASTOFF_ALIGN"] == "2M"


@pytest.mark.skipif(glibc.version() < glibc.HUGE_PAGES_SINCE, reason="this glibc cannot ask for huge pages")
def test_huge_pages_are_asked_for_all_the_same(environment_of):
    assert environment_of("--place=at-malloc")["GLIBC_TUNABLES"] == "glibc.malloc.hugetlb=1"
    assert environment_of("--place=auto")["GLIBC_TUNABLES"] == "glibc.malloc.hugetlb=1"
    assert "GLIBC_TUNABLES" not in environment_of("--align", "--place=none")


def test_auto_places_where_there_is_a_node_of_the_device(environment_of):
    assert environment_of("--place=auto", "--device-node=0")["LD_PRELOAD"] == BOTH


def test_a_missing_interposer(blastoff, tmp_path):
    shutil.copy(offload.LIBRARY, tmp_path / "libblastoff.so")
    done = blastoff("run", "--align", "true", env={"BLASTOFF_LIBRARY": str(tmp_path / "libblastoff.so")})
    assert done.returncode == 2
    assert done.stderr == f"blastoff: {tmp_path}/libblastoff-allocator.so is missing: --place at-malloc and --align need it\n"


def test_it_tells_where_the_kernel_does_not(tmp_path):
    """In a sandbox without userfaultfd, as in many containers, the allocator library must tell the library which memory is freed."""
    command = [refusing(Workshop(tmp_path), "userfaultfd"), offload.COMMAND, "run"]
    env = clean_environment()
    assert f"LD_PRELOAD={BOTH}\n" in offload.run([*command, *PRINT_ENVIRONMENT], env=env).stdout
    assert f"LD_PRELOAD={offload.LIBRARY}\n" in offload.run([*command, "--policy=copy", *PRINT_ENVIRONMENT], env=env).stdout


def test_a_program_under_it(blastoff):
    done = blastoff("run", "--summary=never", "--place=at-malloc=1M", "--device-node=0", "sh", "-c", "seq 300000 | sort -r -S 20M | head -1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "99999\n", "")
