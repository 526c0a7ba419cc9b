"""The PTX of Blastoff's own kernels belongs to their sources, and NVIDIA's assembler takes it."""

import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load_tool():
    loader = importlib.machinery.SourceFileLoader("kernels_tool", str(ROOT / "tools" / "kernels"))
    tool = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(tool)
    return tool


tool = load_tool()


@pytest.mark.skipif(tool.installed() != tool.VERSION, reason=f"{tool.PACKAGE} {tool.VERSION} is not installed")
def test_the_ptx_is_that_of_the_sources():
    made = {file.name: text for file, text in tool.compiled().items()}
    there = {file.name: file.read_text() for file in tool.KERNELS.glob("*.ptx")}
    stale = sorted(name for name in made.keys() | there.keys() if made.get(name) != there.get(name))
    if stale:
        pytest.fail(f"run .venv/bin/python tools/kernels: {', '.join(stale)} does not belong to the source", pytrace=False)


@pytest.mark.parametrize("file", sorted(tool.KERNELS.glob("*.ptx")), ids=lambda file: file.stem)
def test_nvidias_assembler_takes_it(file, tmp_path):
    ptxas = shutil.which("ptxas", path=f"{os.environ['PATH']}:/usr/local/cuda/bin")
    if ptxas is None:
        pytest.skip("no ptxas here")
    for architecture in ("sm_75", "sm_90"):
        subprocess.run([ptxas, f"-arch={architecture}", file, "-o", tmp_path / "kernel.cubin"], check=True)
