"""What goes over the wire: compressed, and not again if nothing changed."""

from __future__ import annotations

import gzip
from datetime import timedelta

import pytest
from django.test import Client

from advisor.models import ResourceStatus
from tests.web.fleet import Fleet

PARTS = (
    "/",
    "/?part=heat",
    "/?part=lists",
    "/?part=movers",
    "/?part=promises",
    "/?part=map",
    "/workloads/",
    "/hosts/",
)
PART = {"HX-Request": "true"}


@pytest.mark.parametrize("address", ["/", "/workloads/", "/static/sluice.css"])
def test_answer_is_compressed_for_those_who_take_it(
    viewer: Client, fleet: Fleet, address: str
) -> None:
    plain = b"".join(viewer.get(address))
    packed = viewer.get(address, headers={"Accept-Encoding": "gzip"})

    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in packed.headers["Vary"]
    content = b"".join(packed)
    assert len(content) < len(plain) / 2
    assert len(gzip.decompress(content)) == pytest.approx(len(plain), rel=0.02)


def test_charts_are_compressed(viewer: Client, fleet: Fleet) -> None:
    address = f"/api/v1/resources/{fleet.resources['nfs-07'].pk}/charts"

    packed = viewer.get(address, headers={"Accept-Encoding": "gzip"})

    assert packed.headers["Content-Encoding"] == "gzip"


def test_token_of_forms_is_masked_anew_in_every_answer(viewer: Client, fleet: Fleet) -> None:
    """What an attacker could guess by the length of compressed answers is never the same."""
    tokens = {
        viewer.get("/").content.decode().split('name="csrfmiddlewaretoken" value="')[1][:64]
        for _ in range(2)
    }

    assert len(tokens) == 2


@pytest.mark.parametrize("address", PARTS)
@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_part_that_has_not_changed_is_not_sent_again(
    viewer: Client, fleet: Fleet, address: str, coding: str
) -> None:
    headers = {**PART, "Accept-Encoding": coding}
    first = viewer.get(address, headers=headers)

    again = viewer.get(address, headers={**headers, "If-None-Match": first.headers["ETag"]})

    assert (first.status_code, again.status_code) == (200, 304)
    assert again.content == b""
    assert first.headers["Cache-Control"] == "no-store"


def test_part_is_the_same_although_time_has_passed(
    viewer: Client, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = viewer.get("/workloads/", headers=PART)
    later = fleet.now + timedelta(seconds=7)
    monkeypatch.setattr("django.utils.timezone.now", lambda: later)

    after = viewer.get("/workloads/", headers=PART)

    assert "6 s ago" in before.content.decode()
    assert "13 s ago" in after.content.decode()
    assert after.headers["ETag"] == before.headers["ETag"]


def test_part_that_has_changed_is_sent(viewer: Client, fleet: Fleet) -> None:
    tag = viewer.get("/storage/", headers=PART).headers["ETag"]
    ResourceStatus.objects.filter(resource=fleet.resources["san-02"]).update(state="congested")

    answer = viewer.get("/storage/", headers={**PART, "If-None-Match": tag})

    assert answer.status_code == 200
    assert answer.headers["ETag"] != tag


def test_part_of_another_person_is_never_the_same_by_accident(
    viewer: Client, outsider: Client, fleet: Fleet
) -> None:
    tags = {one.get("/workloads/", headers=PART).headers["ETag"] for one in (viewer, outsider)}

    assert len(tags) == 2
