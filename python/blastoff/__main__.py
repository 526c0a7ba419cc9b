"""`python -m blastoff COMMAND`: the same as the `blastoff` command. `python -m blastoff SCRIPT.py`: that script, offloaded."""

import sys

from blastoff.command import main

if len(sys.argv) > 1 and sys.argv[1].endswith(".py"):
    from blastoff.session import script

    sys.exit(script.main(sys.argv[1:]))
sys.exit(main())
