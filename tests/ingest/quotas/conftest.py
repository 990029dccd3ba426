from __future__ import annotations

from collections.abc import Iterator

import pytest

from ingest.quotas import entry, shared_account
from ingest.quotas.hits import HITS
from ingest.quotas.new_series import COUNTS
from ingest.quotas.shared_account import SharedAccount
from tests.config.queued import empty


def as_a_new_process() -> None:
    """Forget what this process knows of quotas."""
    shared_account._client.cache_clear()
    shared_account._script.cache_clear()
    entry.spending_of.cache_clear()
    HITS.forget()
    COUNTS.forget()


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test begins as a process does."""
    monkeypatch.setattr(entry, "_SHARED", SharedAccount())
    as_a_new_process()
    yield
    as_a_new_process()


@pytest.fixture
def valkey(valkey_url: str) -> Iterator[str]:
    """The address of a real valkey that knows of no use."""
    empty(valkey_url)
    yield valkey_url
    empty(valkey_url)
