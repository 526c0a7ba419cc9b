"""How a command ends early: one line on stderr and an exit status."""

USAGE = 2
"""A wrong option, setting or file: nothing was started."""

CANNOT_EXECUTE = 126
"""The program exists but cannot be executed (as in the shell)."""


class CommandError(Exception):
    """Ends the command: `message` is the one line that the user sees, `status` the exit status."""

    def __init__(self, message: str, status: int = USAGE) -> None:
        super().__init__(message)
        self.status = status
