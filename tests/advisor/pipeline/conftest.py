"""The datastore of `noon`, for each test its own."""

from __future__ import annotations

import pytest

from advisor.models import Resource
from tests.advisor.pipeline.noon import make_lun


@pytest.fixture
def lun(db: None) -> Resource:
    return make_lun()


@pytest.fixture
def committed_lun(transactional_db: None) -> Resource:
    """One that other processes see."""
    return make_lun()
