"""What a run says on standard error."""

import offload
import pytest

PRODUCTS = offload.PROGRAMS / "products"
pytestmark = pytest.mark.skipif(not PRODUCTS.exists(), reason="the scenario programs are not built: no BLAS to link against")


@pytest.fixture
def said(blastoff):
    def run(*words: object) -> list[str]:
        done = blastoff("run", *words, env={"LD_LIBRARY_PATH": str(offload.REFERENCE_BLAS), "CUDA_VISIBLE_DEVICES": ""})
        assert done.returncode == 0, done.stderr
        return done.stderr.splitlines()

    return run


def test_processes_of_a_run_say_once_what_concerns_all(said):
    """Each of them said that there is no GPU."""
    settings = ("--device=cuda", "--min-size=0", "--start=now", "--summary=never")
    alone = said(*settings, "--", PRODUCTS, 40)
    assert len(alone) == 1 and alone[0].endswith("all calls run on the CPU")
    assert said(*settings, "--", "sh", "-c", f"{PRODUCTS} 40 & {PRODUCTS} 40 & wait") == alone


def test_calls_are_logged_in_a_directory(said, tmp_path):
    said("--device=none", f"--log=calls={tmp_path}", "--", PRODUCTS, 40)
    (file,) = tmp_path.iterdir()
    assert file.suffix == ".log" and "gemm" in file.read_text()


def test_a_log_that_cannot_be_written(said):
    lines = said("--device=none", "--log=calls=/dev/full", "--", PRODUCTS, 40)
    assert lines[0] == "blastoff: cannot write calls to /dev/full: No space left on device; they are written here"
    assert "gemm" in lines[1] and sum("cannot write" in line for line in lines) == 1
