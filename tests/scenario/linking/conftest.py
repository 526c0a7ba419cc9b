"""A directory to build programs in."""

from pathlib import Path

import linking
import pytest


@pytest.fixture
def workshop(tmp_path: Path) -> linking.Workshop:
    return linking.Workshop(tmp_path)
