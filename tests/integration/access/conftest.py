from __future__ import annotations

from typing import Any

import pytest

from tests.integration.access.scenes import Side, make_side


@pytest.fixture
def alpha(db: None, settings: Any) -> Side:
    """A project on an instance where people sign in."""
    settings.SIXSTAGE_OPEN = False
    return make_side("alpha")


@pytest.fixture
def beta(db: None) -> Side:
    return make_side("beta")
