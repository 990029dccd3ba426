"""An organisation of which nothing is known yet."""

from __future__ import annotations

import pytest

from accounts.models import Organisation
from advisor.decisions.found import keep
from ingest import facts as stored_facts


@pytest.fixture
def acme(monkeypatch: pytest.MonkeyPatch) -> Organisation:
    # A busy machine would rest between two looks.
    monkeypatch.setattr(keep, "MOST_OF_TIME", 1e9)
    stored_facts.MEMORY.forget()
    return Organisation.objects.create(slug="acme", name="Acme")
