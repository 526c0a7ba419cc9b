"""Writes that page tracking cannot see: into buffers registered with io_uring by plain system calls, without liburing.so."""

import pytest


@pytest.mark.parametrize("case", ["before-use", "after-use", "as-result"])
def test_buffers_registered_with_io_uring(unharmed, policy, tmp_path, case):
    outcome = unharmed("foreign_writers", case, tmp_path / "matrices", policy=policy, verify="off")
    if "no io_uring" in outcome.stdout:
        pytest.skip("io_uring is not allowed here")
    assert outcome.total("offloaded") == outcome.total("calls")
    if outcome.tracks:
        assert any("VmPin" in copied["reason"] for copied in outcome.report["policy"]["copied_operands"])
