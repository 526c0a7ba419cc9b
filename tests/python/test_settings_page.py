"""docs/settings.md agrees with the option table."""

import re

import offload
from blastoff import docs


def test_the_page_is_up_to_date(table):
    page = (offload.ROOT / "docs" / "settings.md").read_text()
    assert page == docs.settings_page(table), "run: python -m blastoff.docs > docs/settings.md"


def test_every_option_is_documented_once_and_nothing_else(table):
    page = docs.settings_page(table)
    headings = re.findall(r"^### `(?:--)?([\w-]+)", page, re.MULTILINE)
    expected = [option.name if option.on_command_line else option.environment for option in table]
    assert sorted(headings) == sorted(expected)
    for option in table:
        assert option.environment in page and option.help in page
