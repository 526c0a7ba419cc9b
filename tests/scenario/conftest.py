"""Running a scenario program with and without Blastoff."""

import offload
import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not (offload.PROGRAMS / "products").exists():
        for item in items:
            if "tests/scenario/" in item.path.as_posix():
                item.add_marker(pytest.mark.skip(reason="the scenario programs are not built: no BLAS to link against"))


@pytest.fixture
def unharmed(device: str):
    """Runs a scenario program with and without Blastoff. Checks for the same output and status and for no stale page. Returns the outcome. A test of
    several processes, or of a process that may end without a report of its own, asks for the launcher (launched=True)."""

    def run(name: str, *arguments: object, policy: str = "first-use", **options) -> offload.Outcome:
        command = offload.program(name, *arguments)
        plain = offload.plain(command)
        assert "WRONG" not in plain.stdout
        options = {"device": device, "launched": False} | options
        outcome = offload.offloaded(command, policy=policy, **options)
        assert outcome.stdout == plain.stdout, outcome.stderr
        assert outcome.status == plain.status, outcome.stderr
        assert outcome.stderr_of_program == plain.stderr_of_program
        if outcome.report or not options["launched"]:
            assert outcome.report["verification"]["stale_pages"] == 0
        return outcome

    return run


@pytest.fixture
def gpu(device: str, request: pytest.FixtureRequest) -> dict[str, str]:
    """The environment in which "cuda" is a GPU or, if there is none, the fake driver."""
    if device.startswith("cuda"):
        return offload.environment()
    fake = request.getfixturevalue("fake_gpu")
    env = offload.environment(BLASTOFF_CUDA_PATH=str(fake))
    env["LD_LIBRARY_PATH"] = f"{fake}:{env['LD_LIBRARY_PATH']}"
    return env
