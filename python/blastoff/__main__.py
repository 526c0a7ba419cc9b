"""`python -m blastoff`: the same as the `blastoff` command."""

import sys

from blastoff.command import main

sys.exit(main())
