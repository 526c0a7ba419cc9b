"""IPython's magics: `%%blastoff` for a cell, `%blastoff` for a statement, and switches."""

import ast
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand
from IPython.display import display

from blastoff.errors import CommandError
from blastoff.session import rows, switch
from blastoff.session.counts import Counts
from blastoff.session.regions import Region
from blastoff.session.view import frame, page, text

USAGE = "%blastoff on [OPTION=VALUE ...] | off | stats | STATEMENT"


def options(words: list[str]) -> dict[str, Any]:
    """OPTION=VALUE words as keywords for enable()."""
    given = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"{word}: options are written OPTION=VALUE, as in min_size=500")
        given[name] = ast.literal_eval(value) if value in ("True", "False", "None") else value.strip("'\"")
    return given


class Shown:
    """Counts as a notebook or a terminal shows them."""

    def __init__(self, name: str, counts: Counts) -> None:
        self._name, self._counts = name, counts

    def __repr__(self) -> str:
        return text.describe(self._name, self._counts)

    def _repr_html_(self) -> str:
        return page.render(self._name, self._counts)


@magics_class
class BlastoffMagics(Magics):
    """`%blastoff` and `%%blastoff`."""

    @no_var_expand
    @line_cell_magic
    def blastoff(self, line: str, cell: str | None = None) -> Any:
        """`%%blastoff [OPTION=VALUE ...]` runs the cell offloaded, and shows what its calls did. `%blastoff STATEMENT` does so for one line.

        `%blastoff on [OPTION=VALUE ...]` and `%blastoff off` switch. `%blastoff stats` shows the calls of the whole session.
        A cell or statement switches Blastoff on, and it stays on.
        """
        words = line.split()
        try:
            if cell is not None:
                return self._run(f"# the magic\n{cell}", options(words))  # stands for the magic's line, so that line numbers stay right
            if words[:1] == ["on"]:
                return switch.enable(**options(words[1:]))
            if words == ["off"]:
                return switch.disable()
            if words == ["stats"]:
                return frame.of(rows.rows("routine"))
            if not words:
                raise UsageError(f"usage: {USAGE}")
            return self._run(line, {})
        except CommandError as error:
            raise UsageError(str(error)) from error

    def _run(self, source: str, given: dict[str, Any]) -> None:
        switch.enable(**given)
        region = Region()
        with region:
            self.shell.run_cell(source)
        display(Shown("blastoff", region.counts))
