"""A directory in which tests build programs."""

from pathlib import Path

import linking
import pytest


@pytest.fixture
def workshop(tmp_path: Path) -> linking.Workshop:
    return linking.Workshop(tmp_path)
