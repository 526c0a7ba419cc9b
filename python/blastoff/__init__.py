"""The `blastoff` command: runs BLAS programs on a GPU, says what works here, shows reports.

It does not depend on the library's internals: the two communicate through environment variables and JSON.
"""

from blastoff.marks import mark as mark
