"""docs/settings.md agrees with the option table."""

import re

import offload
from blastoff import docs, options


def test_the_page_is_up_to_date(table):
    page = (offload.ROOT / "docs" / "settings.md").read_text()
    assert page == docs.settings_page(table), "run: python -m blastoff.docs > docs/settings.md"


def test_every_option_is_documented_once_and_nothing_else(table):
    page = docs.settings_page(table)
    headings = re.findall(r"^### `(?:--)?([\w-]+)", page, re.MULTILINE)
    expected = [option.name if option.on_command_line else option.environment for option in table]
    assert sorted(headings) == sorted(expected)
    for option in table:
        assert option.environment in page
        for part in options.paragraphs(option.help):
            value, _, what = part.partition(": ")
            assert part in page or f"- `{value}`: {what}" in page, part


def test_values_are_those_that_are_accepted(table):
    """A help that says what values do names values that the option accepts, and says it once."""
    for option in table:
        named = [part.split(": ")[0] for part in options.paragraphs(option.help)[1:]]
        assert len(set(named)) == len(named) and all(name in option.choices or f" {name}" in option.values for name in named), option.name
        assert "auto" in named or "auto" not in option.choices, option.name
