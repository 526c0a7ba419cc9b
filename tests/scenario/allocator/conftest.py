"""Fixtures that the tests of the allocation interposer share."""

from pathlib import Path

import interposer
import linking
import pytest

SETTINGS = {"nothing": {}, "at-malloc": interposer.AT_MALLOC, "align": interposer.ALIGN}


@pytest.fixture(params=SETTINGS)
def settings(request: pytest.FixtureRequest) -> dict[str, str]:
    """Environment variables: no settings, settings that place many blocks, settings that align nearly all blocks."""
    return SETTINGS[request.param]


@pytest.fixture
def workshop(tmp_path: Path) -> linking.Workshop:
    return linking.Workshop(tmp_path)
