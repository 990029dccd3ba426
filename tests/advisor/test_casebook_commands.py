"""`sluice bundle`."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Organisation
from advisor.core.casebook.bundle import (
    matrix_of,
    read_bundle,
)
from advisor.models import Incident
from tests.advisor.crowded_uplink import crowded_uplink
from tests.advisor.scenario import MBIT, NOW

pytestmark = pytest.mark.django_db


@pytest.fixture
def incident(monkeypatch: pytest.MonkeyPatch) -> Incident:
    """web-3 takes most of an uplink of 94 Mbit/s."""
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)
    found = crowded_uplink()
    Organisation.objects.filter(slug="other").delete()
    return found


def said(*words: object) -> str:
    out = StringIO()
    call_command(*map(str, words), stdout=out)
    return out.getvalue()


def test_bundle_has_the_counters_of_its_hour(incident: Incident, tmp_path: Path) -> None:
    file = tmp_path / "case.bundle"

    told = said("bundle", incident.pk, "--hours", 1, "--output", file)

    assert f"{file.stat().st_size:,} bytes" in told
    bundle = read_bundle(file.read_bytes())
    (track,) = (one for one in bundle.tracks if one.kind == "interface")
    received = matrix_of(track, 1, (bundle.until - bundle.since) // timedelta(seconds=10))
    assert received.max() == 83 * MBIT / 8 * 10


def test_same_key_gives_the_same_names(incident: Incident, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(b"sixteen bytes of a secret")
    files = [tmp_path / name for name in ("a.bundle", "b.bundle", "c.bundle")]

    for file, words in zip(files, [("--key", key), ("--key", key), ()], strict=True):
        said("bundle", incident.pk, "--hours", 1, "--output", file, *words)

    first, second, other = (read_bundle(file.read_bytes()).resource.name for file in files)
    assert first == second != other


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("bundle", 999_999), "there is no incident 999999"),
        (("bundle", "{incident}", "--output", "{folder}/none/x"), "cannot be written"),
        (("bundle", "{incident}", "--key", "{folder}/none"), "cannot be read"),
        (("bundle", "{incident}", "--key", "{folder}/short"), "5 bytes; a key has 16 or more"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_in_a_line(
    incident: Incident, tmp_path: Path, words: tuple[object, ...], why: str
) -> None:
    (tmp_path / "short").write_bytes(b"short")
    asked = [str(one).format(incident=incident.pk, folder=tmp_path) for one in words]

    with pytest.raises(CommandError, match=why):
        said(*asked)
