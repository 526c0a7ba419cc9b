"""The names that the package `blastoff` offers to a Python session."""

from typing import Any

from blastoff.session import rows
from blastoff.session.regions import Region
from blastoff.session.switch import disable, enable, is_enabled

__all__ = ["disable", "enable", "is_enabled", "load_ipython_extension", "region", "stats"]


class region(Region):  # noqa: N801: used like a function
    """`with blastoff.region("name"):` counts the calls of the block (see Region). The object is displayed as a table."""

    def __repr__(self) -> str:
        from blastoff.session.view import text

        return text.describe(self.name, self.counts)

    def _repr_html_(self) -> str:
        from blastoff.session.view import page

        return page.render(self.name, self.counts)


def stats(by: str = "routine") -> Any:
    """The calls of this process up to now: a pandas DataFrame if pandas can be imported, otherwise a list of dicts.

    One row for each "routine", "region" (all blocks of the same name together), or "reason" why calls stayed on the CPU. Seconds are
    summed over threads, except those of a region, which are wall time; sizes are bytes.
    """
    from blastoff.session.view import frame

    return frame.of(rows.rows(by))


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext blastoff`."""
    from blastoff.session.view import magics

    shell.register_magics(magics.BlastoffMagics)
