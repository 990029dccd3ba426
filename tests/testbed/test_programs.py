"""What the laboratory lacks is said by name."""

from __future__ import annotations

import tempfile

import pytest

from tests.testbed.programs import missing_for_guests


def test_guests_need_files_that_they_see(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/mnt/tmp")

    reason = missing_for_guests()

    assert reason is not None
    assert reason.endswith(" lies below /mnt, which is another folder in a guest")
