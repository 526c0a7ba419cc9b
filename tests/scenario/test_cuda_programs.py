"""Programs that use CUDA themselves and also make BLAS calls that are offloaded. They run on a GPU if there is one, else on a fake driver.

The driver's copies into page-locked memory leave no trace in the page tables, and the driver refuses to page-lock memory twice.
The fake driver reproduces only the refusal; the first property shows only on a GPU.
"""

import importlib.util
import sys

import offload
import pytest

TORCH = """
import sys
import numpy

def read(what, matrix):
    print(what, "right" if numpy.array_equal(matrix @ identity, matrix) else "WRONG", flush=True)

n = 512
identity = numpy.eye(n)
a = numpy.arange(n * n, dtype=float).reshape(n, n)
c = numpy.empty((n, n))

def make_result():
    for _ in range(4):
        numpy.matmul(a, identity, out=c)

if sys.argv[1] == "late":
    make_result()
import torch
on_device = -torch.arange(n * n, dtype=torch.float64, device="cuda").reshape(n, n)
tensor = torch.from_numpy(c)
for blocking in (True, False):
    make_result()
    read("result", c)
    tensor.copy_(on_device, non_blocking=not blocking)
    torch.cuda.synchronize()
    read("copied from the device", c)
make_result()
print("pinned:", tensor.is_pinned(), torch.cuda.cudart().cudaHostRegister(c.ctypes.data, c.nbytes, 0))
tensor.copy_(2 * on_device)
torch.cuda.synchronize()
read("copied into registered memory", c)
"""


@pytest.mark.parametrize(("start", "intercept"), [("early", "auto"), ("late", "auto"), ("late", "preload")])
def test_a_program_with_cuda_of_its_own(gpu, start, intercept):
    command = offload.program("cuda_user", start)
    plain = offload.plain(command, env={name: value for name, value in gpu.items() if not name.startswith("BLASTOFF_")})
    assert plain.status == 0, plain.stderr
    outcome = offload.offloaded(command, device="cuda", verify="off", settings=[f"--intercept={intercept}"], env=gpu, launched=False)
    assert (outcome.status, outcome.stdout) == (plain.status, plain.stdout), outcome.stderr
    assert outcome.total("offloaded") > 20


@pytest.mark.parametrize("start", ["early", "late"])
def test_pytorch_beside_numpy(device, start, tmp_path):
    if not device.startswith("cuda") or importlib.util.find_spec("torch") is None:
        pytest.skip("needs a GPU and PyTorch")
    script = tmp_path / "torch_beside_numpy.py"
    script.write_text(TORCH)
    env = offload.environment(blas=None)
    plain = offload.plain([sys.executable, script, start], env=env)
    assert plain.status == 0 and "WRONG" not in plain.stdout, plain.stderr
    outcome = offload.offloaded([sys.executable, script, start], device=device, verify="off", env=env)
    assert (outcome.status, outcome.stdout) == (plain.status, plain.stdout), outcome.stderr
    assert outcome.total("offloaded") > 10


@pytest.mark.parametrize(("setting", "emulates"), [("1", True), ("0", False)])
def test_reports_say_that_double_precision_is_emulated(gpu, setting, emulates):
    env = gpu | {"CUBLAS_EMULATE_DOUBLE_PRECISION": setting}
    outcome = offload.offloaded(offload.program("products"), device="cuda", verify="off", env=env)
    assert outcome.total("offloaded") > 0
    assert ("with FP64 emulation" in outcome.report["device"]["software"]) == emulates
