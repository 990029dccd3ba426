"""Line protocol over UDP: what arrives is stored, what cannot be stored is said."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DataError, InterfaceError, OperationalError

from accounts.models import Token
from ingest import udp
from ingest.models import DiskioSample, RejectedLine, Series
from ingest.series_rows import SeriesDeletedError
from ingest.udp import Receiver, listen
from tests.ingest.scenario import Tenant, disk_line, make_tenant, now
from tests.ingest.wire import database_url, eventually

# Between bodies the receiver gives up connections that are left in a transaction.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("committed")]


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with listen("127.0.0.1", 0) as found:
        yield found


def receive(listening: socket.socket, secret: str, *datagrams: str) -> None:
    """Send these, and receive for as long as it takes to store them."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for datagram in datagrams:
            sender.sendto(datagram.encode(), listening.getsockname())
    Receiver(listening, secret=secret, retention=timedelta(days=30)).run(
        _after(0.3 + udp.FLUSH_EVERY_S)
    )


def _after(seconds: float) -> Callable[[], bool]:
    end_s = time.monotonic() + seconds
    return lambda: time.monotonic() > end_s


def test_lines_of_datagrams_are_stored(tenant: Tenant, listening: socket.socket) -> None:
    receive(
        listening,
        tenant.secret,
        disk_line(now(), count=4),
        f"{disk_line(now(), host='h2')}\n{disk_line(now(), host='h3')}\n",
    )

    assert sorted(Series.objects.values_list("host__name", flat=True)) == ["h1", "h2", "h3"]
    (series,) = Series.objects.filter(host__name="h1")
    assert DiskioSample.objects.get(series=series).reads == 4


def test_bad_lines_are_refused_and_the_others_kept(
    tenant: Tenant, listening: socket.socket
) -> None:
    receive(listening, tenant.secret, f"bad\n{disk_line(now())}", "\0\0\0")

    assert Series.objects.count() == 1
    assert RejectedLine.objects.count() == 2


def test_nothing_is_stored_once_the_token_is_revoked(
    tenant: Tenant, listening: socket.socket, caplog: pytest.LogCaptureFixture
) -> None:
    Token.objects.update(revoked_at=now())

    with caplog.at_level(logging.WARNING, "ingest.udp"):
        receive(listening, tenant.secret, disk_line(now()))

    assert not Series.objects.exists()
    assert "1 datagrams were dropped: the token is unknown, revoked or expired" in caplog.text


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OperationalError("gone"), [b"one\ntwo"]),
        (InterfaceError("the connection is closed"), [b"one\ntwo"]),
        (SeriesDeletedError(), [b"one\ntwo"]),
        # They would stand in the way of all that follow.
        (DataError("refused whenever it comes"), []),
    ],
    ids=["away", "closed", "series deleted", "refused"],
)
def test_they_wait_for_what_passes(
    tenant: Tenant,
    listening: socket.socket,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    expected: list[bytes],
) -> None:
    stored: list[bytes] = []
    tries = iter([error])

    def store(body: bytes, **_: Any) -> None:
        if error := next(tries, None):
            raise error
        stored.append(body)

    monkeypatch.setattr(udp, "store", store)
    monkeypatch.setattr(udp, "FLUSH_EVERY_S", 0.05)

    receive(listening, tenant.secret, "one", "two")

    assert stored == expected


def test_more_than_fits_is_dropped(
    tenant: Tenant, listening: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(udp, "MOST_BYTES", 200)
    line = disk_line(now())

    receive(listening, tenant.secret, line, *[disk_line(now(), host=f"h{n}") for n in range(9)])

    assert 1 <= Series.objects.count() < 10


@pytest.mark.parametrize("secret", ["", "slu_wrong"])
def test_command_needs_a_token(settings: Any, secret: str) -> None:
    settings.UDP_TOKEN = secret

    with pytest.raises(CommandError, match=r"^SLUICE_UDP_TOKEN: "):
        call_command("udp", stdout=StringIO())


def test_program_receives_until_it_is_stopped() -> None:
    tenant = make_tenant()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = subprocess.Popen(
        [sys.executable, "manage.py", "udp", "--address=127.0.0.1", f"--port={port}"],
        env={**os.environ, "DATABASE_URL": database_url(), "SLUICE_UDP_TOKEN": tenant.secret},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    try:
        assert "nothing is acknowledged" in program.stdout.readline()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(disk_line(now()).encode(), ("127.0.0.1", port))
        eventually(Series.objects.exists, what="a series")
        program.terminate()
        assert program.wait(timeout=30) == 0
    finally:
        program.kill()
        program.wait()
        program.stdout.close()
