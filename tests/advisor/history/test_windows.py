"""A window is complete when all that sent lately have sent for it, or 10 s after its end."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from accounts.models import Organisation
from advisor.history.whole_windows import last_window_end, whole_windows_of
from advisor.models import Resource
from tests.advisor.samples import send
from tests.advisor.stated_datastores import stated_datastore

START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(("at_s", "end_s"), [(10, 10), (9, 0), (19.9, 10), (9.9995, 10)])
def test_window_is_over_at_its_end(at_s: float, end_s: float) -> None:
    moment = START + timedelta(seconds=at_s)

    assert last_window_end(moment, 10.0) == START + timedelta(seconds=end_s)


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


@pytest.fixture
def lun(db: None) -> Resource:
    """A datastore that h1 and h2 reach by their disk sda."""
    acme = Organisation.objects.create(slug="acme", name="Acme")
    return stated_datastore(acme, "sda", "h1", "h2")


HEADS = {
    "disk of h1": "diskio,host=h1,name=sda reads=1i",
    "disk of h2": "diskio,host=h2,name=sda reads=1i",
    "cgroup on h1": "cgroup,host=h1,path=/a io.stat.8:0.rios=1i",
    "interface of h1": "net,host=h1,interface=eth0 bytes_sent=1i",
    "disk of h3": "diskio,host=h3,name=sda reads=1i",
}


def hear(resource: Resource, last_s: Mapping[str, float], *, now: datetime) -> None:
    """Each of these series sent its last sample so many seconds after the start."""
    for name, seconds in last_s.items():
        stamp = int(after(seconds).timestamp() * 1e9)
        send(resource.organisation, f"{HEADS[name]} {stamp}", now=now)


@pytest.mark.parametrize(
    ("last_s", "now_s", "end_s"),
    [
        pytest.param({"disk of h1": 60, "disk of h2": 60}, 61, 60, id="all have sent"),
        pytest.param({"disk of h1": 60, "disk of h2": 50}, 61, 50, id="one host has not"),
        pytest.param(
            {"disk of h1": 60, "disk of h2": 60, "cgroup on h1": 50}, 61, 50,
            id="a series of a host that did send has not",
        ),
        pytest.param({"disk of h1": 60, "disk of h2": 50}, 70, 60, id="10 s have passed"),
        pytest.param({"disk of h1": 60, "disk of h2": 50}, 69.9, 50, id="almost 10 s have passed"),
        pytest.param({"disk of h1": 60, "disk of h2": 31}, 61, 50, id="sent in the third window"),
        pytest.param({"disk of h1": 60, "disk of h2": 30}, 61, 60, id="silent for three windows"),
        pytest.param(
            {"disk of h1": 60, "disk of h2": 60, "interface of h1": 50, "disk of h3": 50}, 61, 60,
            id="others do not matter",
        ),
        pytest.param({}, 69, 50, id="nobody has sent: after 10 s"),
        pytest.param({"disk of h1": 300, "disk of h2": 60}, 61, 60, id="a clock that is ahead"),
        pytest.param({"disk of h1": 59.96, "disk of h2": 60}, 61, 60, id="just before the edge"),
    ],
)  # fmt: skip
def test_window_is_complete_when_every_recent_series_has_sent(
    lun: Resource, last_s: dict[str, float], now_s: float, end_s: float
) -> None:
    hear(lun, last_s, now=after(now_s))

    found = whole_windows_of([lun], now=after(now_s))[lun.pk]

    assert found.end == after(end_s)
    assert found.heard_at == (after(now_s) if last_s else None)
