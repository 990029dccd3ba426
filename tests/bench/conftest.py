"""Fixtures of the tests of benchmarks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.bench.committed_rows import clear


@pytest.fixture
def empty(transactional_db: None) -> Iterator[None]:
    """A database for rows that are committed."""
    yield
    clear()
