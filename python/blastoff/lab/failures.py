"""What can go wrong in the laboratory."""

from blastoff.errors import CommandError


class Cannot(Exception):
    """This machine cannot do one thing; the text says why. Other experiments go on."""


class DeviceFailed(CommandError):
    """The device has failed and cannot be used any more."""

    def __init__(self, message: str) -> None:
        super().__init__(f"lab: {message}", status=1)
