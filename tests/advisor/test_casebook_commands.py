"""`sluice bundle` and `sluice trust`."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Organisation
from advisor.core.casebook.bundle import (
    Bundle,
    CapturedAllocation,
    Truth,
    matrix_of,
    read_bundle,
    write_bundle,
)
from advisor.models import Incident
from advisor.pipeline.detect import detect
from tests.advisor.samples import Phase, net_lines, send
from tests.advisor.scenario import MBIT, NOW, make_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def incident(monkeypatch: pytest.MonkeyPatch) -> Incident:
    """web-3 takes most of an uplink of 94 Mbit/s."""
    cluster = make_cluster()
    Organisation.objects.filter(slug="other").delete()
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)
    calm = {"p1": 30 * MBIT, "p2": MBIT, "p3": MBIT}
    full = {"p1": 10 * MBIT, "p2": MBIT, "p3": 83 * MBIT}
    phases = [
        Phase(intervals=120, sent={"up0": 32 * MBIT}, received=calm),
        Phase(intervals=60, sent={"up0": 94 * MBIT}, received=full),
    ]
    lines = net_lines("h1", phases, start=NOW - timedelta(minutes=30))
    send(cluster.organisation, lines, now=NOW)
    detect(resource=cluster.uplink, now=NOW)
    return Incident.objects.get()


def said(*words: object) -> str:
    out = StringIO()
    call_command(*map(str, words), stdout=out)
    return out.getvalue()


def bundle_at(folder: Path, incident: Incident) -> Path:
    file = folder / "case.bundle"
    told = said("bundle", incident.pk, "--hours", 1, "--output", file)
    assert f"{file.stat().st_size:,} bytes" in told
    return file


def test_trust_says_what_it_finds_in_a_bundle(incident: Incident, tmp_path: Path) -> None:
    file = bundle_at(tmp_path, incident)
    bundle = read_bundle(file.read_bytes())
    took = most_carried(bundle)
    truth = Truth(is_congested=True, culprit=took.workload, victims=())
    file.write_bytes(write_bundle(replace(bundle, truth=truth)))

    text, rows = said("trust", tmp_path), json.loads(said("trust", file, "--json"))

    assert "case.bundle" in text
    assert f"{took.workload} (right)" in text
    assert list(rows[0]) == ["what", "unit", "asked", "measured", "holds"]
    by_what = {row["what"]: row for row in rows}
    assert by_what["culprit named first"]["holds"] is True
    assert by_what["victims named"]["measured"] is None


def most_carried(bundle: Bundle) -> CapturedAllocation:
    """Whose adapter carried most in a window."""
    (track,) = (one for one in bundle.tracks if one.kind == "interface")
    received = matrix_of(track, 1, (bundle.until - bundle.since) // timedelta(seconds=10))
    most = {one.name: int(received[:, at].max()) for at, one in enumerate(track.subjects)}
    return max(bundle.resource.allocations, key=lambda one: most[one.adapter])


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
        (("trust", "{folder}/none"), "cannot be read"),
        (("trust", "{folder}/short"), "this is no bundle"),
        (("trust", "{folder}"), "there is no bundle"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_in_a_line(
    incident: Incident, tmp_path: Path, words: tuple[object, ...], why: str
) -> None:
    (tmp_path / "short").write_bytes(b"short")
    asked = [str(one).format(incident=incident.pk, folder=tmp_path) for one in words]

    with pytest.raises(CommandError, match=why):
        said(*asked)
