"""The command of an installation: Python runs the directory of this file, where the package is."""

import sys

from blastoff.command import main

sys.exit(main())
