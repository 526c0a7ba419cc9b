"""`python -m blastoff.manual DIRECTORY`: writes the manual pages and completions, for the installation (cmake/manual.cmake)."""

import sys
from pathlib import Path

from blastoff.command import COMMANDS, USAGE
from blastoff.manual.command import write

write(Path(sys.argv[1]), COMMANDS, USAGE)
