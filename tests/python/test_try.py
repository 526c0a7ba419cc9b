"""`blastoff try` with several processes."""

import subprocess
import sys

from command_rig import clean_environment


def test_ranks_that_each_run_under_try_get_one_answer(tmp_path):
    """As by `mpirun -n 2 blastoff try PROGRAM`."""
    (tmp_path / "scf.py").write_text("import numpy\na = numpy.ones((200, 200))\nfor i in range(5): a @ a\n")
    command = [sys.executable, "-m", "blastoff", "try", "--machine=h200", "--", sys.executable, tmp_path / "scf.py"]
    job = clean_environment() | {"PMIX_NAMESPACE": tmp_path.name, "OMPI_COMM_WORLD_LOCAL_SIZE": "2", "TMPDIR": str(tmp_path)}
    ranks = [
        subprocess.Popen(command, env=job | {"OMPI_COMM_WORLD_RANK": rank, "OMPI_COMM_WORLD_LOCAL_RANK": rank}, stderr=subprocess.PIPE, text=True)
        for rank in "01"
    ]
    said = sorted(rank.communicate(timeout=60)[1] for rank in ranks)
    assert said[0] == "" and "  processes   2, taken to run at the same time" in said[1], said
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("blastoff-try")] == [] and {rank.returncode for rank in ranks} == {0}
