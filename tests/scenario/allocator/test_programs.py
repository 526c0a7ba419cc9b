"""Usual programs with much of their memory placed: their output is the same."""

import shutil
import sys

import offload
import pytest
from interposer import ALIGN, AT_MALLOC, interposed

PLACE = AT_MALLOC | {"BLASTOFF_PLACE": "at-malloc=256K"}

NUMPY = """
import numpy as np
rng = np.random.default_rng(1)
total = 0.0
for n in (100, 300, 700):
    a = rng.integers(-4, 5, (n, n)).astype(float)
    b = np.asfortranarray(a.T @ a)
    c = np.concatenate([a, b], axis=1)
    c.resize((n, 3 * n), refcheck=False)
    total += float(c.sum() + np.sort(b, axis=None)[:10].sum() + np.zeros((n, n)).sum())
    x = list(range(n * n)); x *= 3
    total += sum(x) % 1000003
print(total, b"abc" * 1000000 == bytearray(b"abc") * 1000000)
"""

PYTHON = """
import hashlib, subprocess, sys, threading, zlib
data = bytes(range(256)) * 20000
results = []
def work(k):
    text = zlib.decompress(zlib.compress(data[k:] * 2, 1))
    results.append((k, hashlib.sha256(text).hexdigest()))
threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print(sorted(results), subprocess.run(["echo", "child"], capture_output=True).stdout)
"""

R = "set.seed(1); a <- matrix(rnorm(250000), 500); s <- svd(a[, 1:50])$d; cat(format(sum(s), digits = 12), sum(sort(runif(1e6)) > .5), '\\n')"
OCTAVE = "rand('seed', 1); a = reshape(mod(1:250000, 7), 500, 500); b = a' * a; b(:, end + 1) = 1; printf('%d %d\\n', sum(b(:)), rank(a(:, 1:7)))"

COMMANDS = {
    "numpy": [sys.executable, "-c", NUMPY],
    "python": [sys.executable, "-c", PYTHON],
    "R": ["Rscript", "-e", R],
    "octave": ["octave-cli", "--quiet", "--eval", OCTAVE],
    "sort": ["sh", "-c", "seq 200000 | sort -r -S 30M --parallel=2 | md5sum"],
    "gcc": ["sh", "-c", "echo 'int main(void) { return 0; }' | gcc -O2 -S -x c - -o -"],
}


@pytest.mark.parametrize("variables", [PLACE, ALIGN], ids=["at-malloc", "align"])
@pytest.mark.parametrize("name", COMMANDS)
def test_output_is_the_same(name, variables):
    command = COMMANDS[name]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    plain = offload.plain(command)
    if plain.status != 0 and "numpy" in plain.stderr:
        pytest.skip("NumPy is not installed")
    assert plain.status == 0, plain.stderr
    outcome = interposed(command, variables)
    assert (outcome.status, outcome.stdout, outcome.stderr) == (plain.status, plain.stdout, plain.stderr)
