"""Programs that use blocks: in C, C++ and Fortran, linked with Blastoff or with the library preloaded, with and without a device."""

import json
import subprocess
import sys

import jsonschema
import linking
import offload
import pytest


@pytest.fixture(scope="module")
def fortran(tmp_path_factory):
    """The module is compiled together with the program, from the source that an installation contains."""
    directory = tmp_path_factory.mktemp("blocks")
    module = offload.ROOT / "include" / "blastoff_blocks.f90"
    source = offload.ROOT / "tests" / "scenario" / "programs" / "blocks.f90"
    command = [*linking.FORTRAN_COMPILER, "-std=f2018", "-Wall", "-Wextra", "-Werror", "-O1", f"-J{directory}", str(module), str(source)]
    try:
        made = subprocess.run(
            [*command, "-o", str(directory / "blocks"), f"-L{offload.BUILD / 'link'}", "-lblastoff", f"-Wl,-rpath,{offload.BUILD}"],
            capture_output=True,
            text=True,
        )
    except FileNotFoundError:
        if (offload.PROGRAMS / "blocks_f90").exists():  # compiled elsewhere (tests/gpu/pack)
            return offload.PROGRAMS / "blocks_f90"
        pytest.skip("no Fortran compiler here")
    assert made.returncode == 0, made.stderr
    return directory / "blocks"


def run(program, device: str, **changes: str) -> offload.Outcome:
    return offload.run([program], env=offload.environment(None, BLASTOFF_DEVICE=device, BLASTOFF_SUMMARY="never", **changes))


def devices(outcome: offload.Outcome) -> int:
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    number, verdict = outcome.stdout.split(" devices: ")
    assert verdict.strip() == "right", outcome.stdout
    return int(number)


@pytest.mark.parametrize("name", ["blocks_c", "blocks_cpp"])
def test_a_program_with_a_device_and_without(name, device):
    program = offload.program(name)[0]
    assert devices(run(program, device)) == 1
    assert devices(run(program, "none")) == 0


def test_a_fortran_program(fortran, device):
    assert devices(run(fortran, device)) == 1
    assert devices(run(fortran, "none")) == 0


@pytest.mark.parametrize("name", ["blocks_c", "blocks_cpp"])
def test_under_the_launcher_and_where_memory_is_short(name):
    outcome = offload.offloaded(offload.program(name), settings=["--simulated-memory=256K"])
    assert devices(outcome) == 1


@pytest.mark.parametrize("name", ["blocks_c", "blocks_cpp"])
@pytest.mark.parametrize("tracker", ["none", "soft-dirty", "uffd"])
def test_whatever_the_kernel_tells_of_writes(name, tracker):
    assert devices(run(offload.program(name)[0], "simulated", BLASTOFF_TRACKER=tracker)) == 1


@pytest.mark.parametrize("name", ["blocks_c", "blocks_cpp"])
def test_on_the_fake_gpu(name, gpu):
    """On the fake GPU, copies and kernels run late, and host memory is page-locked."""
    outcome = offload.run(offload.program(name), env=gpu | {"BLASTOFF_DEVICE": "cuda", "BLASTOFF_SUMMARY": "never"})
    assert devices(outcome) == 1


TWO_DEVICES = """
import ctypes, os

blastoff = ctypes.CDLL(os.environ["LIBRARY"])
assert blastoff.blastoff_blocks_devices() == 2
names = "acquisitions found_current copies_to_device bytes_to_device copies_from_device bytes_from_device copies_between bytes_between".split()


def counters():
    buffer = (ctypes.c_ulonglong * 64)()
    assert blastoff.blastoff_blocks_get_counters(buffer) == 0
    return dict(zip(names, buffer))


def use(place, access, action=lambda there: None):
    address = ctypes.c_void_p()
    assert blastoff.blastoff_block_acquire(block, place, access, None, ctypes.byref(address)) == 0
    result = action((ctypes.c_long * 1000).from_address(address.value))
    assert blastoff.blastoff_block_release(block, place, None) == 0
    return result


block = ctypes.c_void_p()
assert blastoff.blastoff_block_create(ctypes.c_size_t(8000), ctypes.byref(block)) == 0
for step in range(3):
    use(-1, 1, lambda there: there.__setitem__(slice(None), range(step, step + 1000)))
    for place in (0, 1, 0):
        use(place, 2)  # the newest version is there alone
    assert use(-1, 0, list) == list(range(step, step + 1000))
found = counters()
print(found["copies_between"], found["bytes_between"], found["copies_from_device"])
"""


def test_copies_between_two_gpus(gpu, device):
    """Copies go directly where the driver allows it, also if the program has enabled peer access before; otherwise through the host."""
    two = gpu | {"FAKE_GPU_COUNT": "2", "BLASTOFF_DEVICE": "cuda:0,1", "BLASTOFF_SUMMARY": "never", "LIBRARY": str(offload.LIBRARY)}
    if device != "simulated":
        pytest.skip("the fake driver's GPUs are counted")
    direct, through_host = (offload.run([sys.executable, "-c", TWO_DEVICES], env=two | more) for more in ({}, {"FAKE_GPU_NO_PEERS": "1"}))
    assert (direct.status, direct.stdout) == (0, "6 48000 3\n"), direct.stderr
    assert (through_host.status, through_host.stdout) == (0, "0 0 9\n"), through_host.stderr


REPORTED = """
import ctypes, os

blastoff = ctypes.CDLL(None)  # preloaded
assert blastoff.blastoff_blocks_devices() == 1


def block(size):
    made = ctypes.c_void_p()
    assert blastoff.blastoff_block_create(ctypes.c_size_t(size), ctypes.byref(made)) == 0
    return made


def use(made, place, access):
    address = ctypes.c_void_p()
    assert blastoff.blastoff_block_acquire(made, place, access, None, ctypes.byref(address)) == 0
    assert blastoff.blastoff_block_release(made, place, None) == 0


for step in range(4):
    made = block(5000)
    use(made, -1, 1)
    use(made, 0, 2)
    use(made, 0, 0)
    use(made, -1, 0)
    assert blastoff.blastoff_block_evict(made, 0) == 0
    assert blastoff.blastoff_block_destroy(made) == 0
if os.fork() == 0:
    os._exit(0)
os.wait()
"""


def test_reports_and_summaries_say_what_blocks_did(tmp_path):
    """The program makes no BLAS call, so it would have no report without blocks."""
    report = tmp_path / "run.json"
    command = [sys.executable, "-m", "blastoff", "run", "--device=simulated", f"--report={report}", sys.executable, "-c", REPORTED]
    outcome = offload.run(command, env=offload.environment(None, PYTHONPATH=str(offload.ROOT / "python")))
    assert outcome.status == 0, outcome.stderr
    told = json.loads(report.read_text())
    jsonschema.Draft202012Validator(json.loads((offload.ROOT / "share" / "report.schema.json").read_text())).validate(told)
    found = told["blocks"]
    assert told["totals"]["calls"] == 0 and (found["acquisitions"], found["found_current"]) == (16, 8)
    assert (found["copies_to_device"], found["bytes_to_device"]) == (found["copies_from_device"], found["bytes_from_device"]) == (4, 20000)
    assert (found["evictions"], found["evicted_bytes"], found["contractions"], found["host_plain"]) == (4, 20000, 0, 0)
    for pool in ("host_pool", "device_pool"):
        assert (found[pool]["hits"], found[pool]["misses"]) == (3, 1)
    line = "16 acquired, 8 without a copy; 20.0 kB to the device, 20.0 kB from it; 4 evictions; "
    line += "pools served 75 % on the host, 75 % on the device; waited"
    assert line in outcome.stderr and "no call of BLAS" in outcome.stderr
    for more in (
        ["report", report],
        ["report", "--html", tmp_path / "page.html", report],
        ["advise", report],
        ["report", "--compare", report, report],
    ):
        shown = offload.run([sys.executable, "-m", "blastoff", *more], env=offload.environment(None, PYTHONPATH=str(offload.ROOT / "python")))
        assert shown.status == 0, shown.stderr
    assert line in (tmp_path / "page.html").read_text()
    alone = offload.run([sys.executable, "-c", REPORTED], env=offload.environment(LD_PRELOAD=str(offload.LIBRARY), BLASTOFF_DEVICE="simulated"))
    assert line in alone.stderr


SHARED_MEMORY = """
import ctypes, os, sys
import numpy as np

n = 256
blastoff = ctypes.CDLL(os.environ["LIBRARY"])
assert blastoff.blastoff_blocks_devices() == 1
memory = np.arange(n * n, dtype=float).reshape(n, n) % 7
other = np.arange(n * n, dtype=float).reshape(n, n) % 5


def product():
    assert (memory @ other == np.einsum("ik,kj->ij", memory, other)).all()


def on_device(block):
    address = ctypes.c_void_p()
    assert blastoff.blastoff_block_acquire(block, 0, 2, None, ctypes.byref(address)) == 0
    there = np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_double)), (n, n))  # of the simulated device
    assert (there == expected).all()
    there[3, 3] += 1
    expected[3, 3] += 1
    assert blastoff.blastoff_block_release(block, 0, None) == 0
    assert blastoff.blastoff_block_acquire(block, -1, 0, None, ctypes.byref(address)) == 0
    assert blastoff.blastoff_block_release(block, -1, None) == 0


if sys.argv[1] == "mirror first":
    product()
    product()
block = ctypes.c_void_p()
assert blastoff.blastoff_block_create_over(memory.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(memory.nbytes), ctypes.byref(block)) == 0
expected = memory.copy()
for step in range(4):
    memory[step, 5] = step
    expected[step, 5] = step
    on_device(block)
    product()
    memory[9, step] = expected[9, step] = -step
    product()
assert blastoff.blastoff_block_destroy(block) == 0
assert (memory == expected).all()
counters = (ctypes.c_ulonglong * 64)()
assert blastoff.blastoff_blocks_get_counters(counters) == 0
print("right", counters[3] < 3 * memory.nbytes)  # of four uses
"""


@pytest.mark.parametrize("order", ["mirror first", "block first"])
def test_blas_on_memory_under_a_block(order):
    """Both know what was written. Verification ends the program at the first wrong number."""
    pytest.importorskip("numpy")
    outcome = offload.offloaded([sys.executable, "-c", SHARED_MEMORY, order], env=offload.environment(None, LIBRARY=str(offload.LIBRARY)))
    assert (outcome.status, outcome.stdout) == (0, f"right {outcome.tracks}\n"), outcome.stderr
    assert outcome.total("offloaded") > 4
    assert not outcome.tracks or outcome.report["policy"]["copied_operands"] == []


CONTRACTIONS = """
import ctypes, os, sys, time

class Tensor(ctypes.Structure):
    _fields_ = [("block", ctypes.c_void_p), ("labels", ctypes.c_char_p), ("extents", ctypes.POINTER(ctypes.c_longlong))]

blastoff = ctypes.CDLL(os.environ["LIBRARY"])
blastoff.blastoff_blocks_message.restype = ctypes.c_char_p
PLACE = blastoff.blastoff_blocks_devices() - 1


def done(status):
    assert status == 0, blastoff.blastoff_blocks_message()


class Block:
    def __init__(self, labels, extents, numbers=None, kind=ctypes.c_double):
        self.count, self.kind = 1, kind
        for extent in extents:
            self.count *= extent
        self.labels, self.extents, self.handle = labels, (ctypes.c_longlong * len(extents))(*extents), ctypes.c_void_p()
        done(blastoff.blastoff_block_create(ctypes.c_size_t(self.count * ctypes.sizeof(kind)), ctypes.byref(self.handle)))
        if numbers is not None:
            self.held(1, lambda there: there.__setitem__(slice(None), numbers))

    def held(self, access, action):
        address = ctypes.c_void_p()
        done(blastoff.blastoff_block_acquire(self.handle, -1, access, None, ctypes.byref(address)))
        result = action((self.kind * self.count).from_address(address.value))
        done(blastoff.blastoff_block_release(self.handle, -1, None))
        return result

    def tensor(self):
        return ctypes.byref(Tensor(self.handle, self.labels, self.extents))


def contract(a, b, c, type=1, one=(1.0,), zero=(0.0,), place=PLACE):
    scalars = [(a.kind * len(values))(*values) for values in (one, zero)]
    done(blastoff.blastoff_block_contract(type, ctypes.byref(scalars[0]), a.tensor(), b.tensor(), ctypes.byref(scalars[1]), c.tensor(), place))
    return c.held(0, list)
"""

OWN_BLAS = (
    CONTRACTIONS
    + """
m, n, k = 7, 5, 6
first, second = [float(i % 11 - 5) for i in range(m * k)], [float(i % 7 - 3) for i in range(k * n)]
expected = [sum(first[i + m * l] * second[l + k * j] for l in range(k)) for j in range(n) for i in range(m)]
turned = [expected[i + m * j] for i in range(m) for j in range(n)]
a, b = Block(b"ik", (m, k), first), Block(b"kj", (k, n), second)
assert contract(a, b, Block(b"ij", (m, n))) == expected  # by Blastoff's own loops
for calls, name in enumerate(sys.argv[1:], 1):
    toy = ctypes.CDLL(name)  # after the first contraction
    if calls > 1:
        continue
    assert toy.toy_calls() == 0
    assert contract(a, b, Block(b"ij", (m, n))) == expected and toy.toy_calls() == 1
    assert contract(a, b, Block(b"ji", (n, m))) == turned and toy.toy_calls() == 2
    single = [Block(block.labels, tuple(block.extents), block.held(0, list), ctypes.c_float) for block in (a, b)]
    assert contract(*single, Block(b"ij", (m, n), kind=ctypes.c_float), type=0) == expected and toy.toy_calls() == 2  # it has no sgemm
# The first that was loaded stays in use.
assert contract(a, b, Block(b"ij", (m, n))) == expected
print(ctypes.CDLL(sys.argv[1]).toy_calls())
"""
)


@pytest.mark.parametrize("device", ["none", "simulated"])
@pytest.mark.parametrize("names", [["one"], ["wide"], ["one", "wide"]], ids="-".join)
def test_the_programs_own_blas_computes_contractions(names, device):
    """It does so as soon as it is loaded, called with its own integer size; Blastoff computes what the BLAS lacks."""
    libraries = [str(offload.BUILD / "tests" / "scenario" / f"libtoy_blas_{name}.so") for name in names]
    environment = offload.environment(None, LIBRARY=str(offload.LIBRARY), BLASTOFF_DEVICE=device, BLASTOFF_SUMMARY="never", PYTHONNOUSERSITE="1")
    outcome = offload.run([sys.executable, "-c", OWN_BLAS, *libraries], env=environment)
    assert (outcome.status, outcome.stdout) == (0, "3\n"), outcome.stderr


WITH_NUMPY = (
    CONTRACTIONS
    + """
random = [(i * 37 % 101) / 101 - 0.5 for i in range(2 * 64 * 64)]
kinds = ((0, ctypes.c_float, 1), (1, ctypes.c_double, 1), (2, ctypes.c_float, 2), (3, ctypes.c_double, 2))


def results():
    found = []
    for type, kind, parts in kinds:
        class Number(ctypes.Array):
            _type_, _length_ = kind, parts
        a, b = Block(b"aij", (4, 5, 6), None, Number), Block(b"jbi", (6, 4, 5), None, Number)
        for block in (a, b):
            block.held(1, lambda there: ctypes.memmove(there, (kind * (parts * block.count))(*random[: parts * block.count]), ctypes.sizeof(there)))
        c = Block(b"ba", (4, 4), None, Number)
        scalars = [(kind * 2)(0.5, 0.25), (kind * 2)(0.0, 0.0)]
        done(blastoff.blastoff_block_contract(type, scalars[0], a.tensor(), b.tensor(), scalars[1], c.tensor(), PLACE))
        found.append(c.held(0, lambda there: [part for number in there for part in number]))
    return found


alone = results()
import numpy  # with a BLAS of its own
together = results()
for (_, kind, _), ours, theirs in zip(kinds, alone, together):
    limit = 1e-5 if kind is ctypes.c_float else 1e-14
    assert max(abs(x) for x in ours) > 0.1 and max(abs(x - y) for x, y in zip(ours, theirs)) < limit

n = 256
a, b, c = Block(b"ik", (n, n), [1.0] * n * n), Block(b"kj", (n, n), [2.0] * n * n), Block(b"ij", (n, n))
assert contract(a, b, c) == [2.0 * n] * n * n
print("right")
"""
)


@pytest.mark.parametrize("device", ["none", "simulated"])
def test_a_real_blas_and_the_own_loops_agree(device):
    pytest.importorskip("numpy")
    environment = offload.environment(None, LIBRARY=str(offload.LIBRARY), BLASTOFF_DEVICE=device, BLASTOFF_SUMMARY="never")
    outcome = offload.run([sys.executable, "-c", WITH_NUMPY], env=environment)
    assert (outcome.status, outcome.stdout) == (0, "right\n"), outcome.stderr


@pytest.mark.parametrize("intercept", ["patch", "preload"])
def test_contractions_are_no_calls_of_the_program(intercept):
    """Contractions call the original BLAS past the patch, so they are not counted, however BLAS calls are intercepted."""
    pytest.importorskip("numpy")
    environment = offload.environment(None, LIBRARY=str(offload.LIBRARY))
    outcome = offload.offloaded([sys.executable, "-c", WITH_NUMPY], env=environment, settings=[f"--intercept={intercept}"])
    assert (outcome.status, outcome.stdout) == (0, "right\n"), outcome.stderr
    assert outcome.total("calls") == 0 and outcome.report["blocks"]["contractions"] == 9
    patched = [one["path"] for one in outcome.report["interception"]["objects"] if one["patched"]]
    assert bool(patched) == (intercept == "patch")
