"""The `blastoff` command: runs BLAS programs on a GPU, says what works here, shows reports.

It knows nothing of the library's insides: they talk through environment variables and JSON.
"""
