"""Every kind of bad input: the clear answer, what was kept, and that nothing else was lost."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.http import HttpResponse
from django.test import Client

from ingest.models import DiskioSample, Host, RejectedLine
from tests.ingest.layered_client import LayeredClient
from tests.ingest.scenario import Tenant, disk_line, nanoseconds, now, post

Send = Callable[[str | bytes], HttpResponse]


@pytest.fixture(params=[Client, LayeredClient], ids=["Django alone", "layer of writes"])
def client(request: pytest.FixtureRequest) -> Client:
    made: Client = request.param()
    return made


@pytest.fixture
def send(client: Client, tenant: Tenant) -> Send:
    return lambda body: post(client, body, secret=tenant.secret)


def stored_devices() -> set[str]:
    return set(DiskioSample.objects.values_list("series__subject", flat=True))


def reasons() -> list[tuple[int, str]]:
    return list(RejectedLine.objects.order_by("line_number").values_list("line_number", "reason"))


def around(line: str) -> str:
    """A bad line between two good ones."""
    return "\n".join([disk_line(now(), name="first"), line, disk_line(now(), name="last")])


VALUE_KINDS = "a number, an integer with i or u, true, false or a quoted string is"
TAGS_10000 = ",".join(f"t{number}=x" for number in range(10_000))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        pytest.param("diskio,host=h1 =", 'expected a field, found "="', id="malformed"),
        pytest.param(
            "diskio,host=h1,name=sda reads=NaN",
            f'field "reads": "NaN" is not a value; {VALUE_KINDS}',
            id="NaN",
        ),
        pytest.param(
            "diskio,host=h1,name=sda reads=-Inf",
            f'field "reads": "-Inf" is not a value; {VALUE_KINDS}',
            id="infinity",
        ),
        pytest.param(
            "system,host=h1 load1=1e400",
            'field "load1": "1e400" is too large a number',
            id="infinity by overflow",
        ),
        pytest.param(
            "weather,host=h1 rain=1",
            'unknown measurement "weather": nothing of it is stored',
            id="unknown measurement",
        ),
        pytest.param(
            f"diskio,host=h1,name=sda,{TAGS_10000} reads=1i",
            "the line has more than 256 tags",
            id="10,000 tags",
        ),
        pytest.param(
            f"diskio,host=h1,name=sda reads=1i {nanoseconds(now() + timedelta(days=1))}",
            "the time is more than 10 minutes in the future; is the host's clock right?",
            id="future",
        ),
        pytest.param(
            f"diskio,host=h1,name=sda reads=1i {nanoseconds(now() - timedelta(days=31))}",
            "the time is more than 30 days ago: so long nothing is kept",
            id="ancient",
        ),
        pytest.param(
            "diskio,host=h1,name=sda reads=1i -9223372036854775808",
            "the time is more than 30 days ago: so long nothing is kept",
            id="before time began",
        ),
        pytest.param(
            f'diskio,host=h1,name=sda reads=1i,note="{"x" * 1_100_000}"',
            "the line is longer than 1048576 characters",
            id="a line of a megabyte",
        ),
        pytest.param(
            "diskio,name=sda reads=1i",
            'tag "host" is missing: it says which host the sample is of',
            id="no host",
        ),
        pytest.param(
            'diskio,host=h1,name=sda reads=1i,note="never closed',
            'field "note": the closing quote is missing',
            id="open quote",
        ),
        pytest.param(
            f"diskio,host=h1,name=sda reads=1i {nanoseconds(now()) // 10**6}",
            "the time is more than 30 days ago: so long nothing is kept",
            id="milliseconds among nanoseconds",
        ),
        pytest.param(
            "diskio,host=h1,name=sda reads=2.5",
            'field "reads" must be a counter, not a fraction',
            id="a rate for a counter",
        ),
        pytest.param(
            f"diskio,host={'h' * 254},name=sda reads=1i",
            'tag "host" is longer than 253 characters',
            id="a host's name that is too long",
        ),
        pytest.param(
            f"diskio,host=h1,name={'d' * 256} reads=1i",
            "the name of what it is about is longer than 255 characters",
            id="a device's name that is too long",
        ),
    ],
)
def test_bad_line_is_recorded_and_its_neighbours_are_stored(
    send: Send, line: str, reason: str
) -> None:
    answer = send(around(line))

    assert (answer.status_code, answer["Sluice-Rejected-Lines"]) == (204, "1")
    assert reasons() == [(2, reason)]
    assert stored_devices() == {"first", "last"}


def test_nanoseconds_in_a_body_of_milliseconds_cost_only_their_line(
    client: Client, tenant: Tenant
) -> None:
    at = nanoseconds(now())
    lines = [
        f"diskio,host=h1,name={name} reads=1i {time}"
        for name, time in (("first", at // 10**6), ("sda", at), ("last", at // 10**6))
    ]

    answer = post(client, "\n".join(lines), secret=tenant.secret, precision="ms")

    assert (answer.status_code, answer["Sluice-Rejected-Lines"]) == (204, "1")
    reason = "the time is more than 10 minutes in the future; is the host's clock right?"
    assert reasons() == [(2, reason)]
    assert stored_devices() == {"first", "last"}


@pytest.mark.parametrize(
    "name",
    [
        "d" * 200,
        "/dev/mapper/a/b",
        "a\u202eb\u2066c",
        r"line\none",
        "\N{CYRILLIC SMALL LETTER A}\N{COMBINING ACUTE ACCENT}",
    ],
    ids=["200 characters", "slashes", "right-to-left", "a written newline", "combining"],
)
def test_odd_name_is_kept_as_it_was_sent(send: Send, name: str) -> None:
    answer = send(f"diskio,host={name},name={name} reads=1i {nanoseconds(now())}")

    assert (answer.status_code, reasons()) == (204, [])
    assert stored_devices() == {name}
    assert list(Host.objects.values_list("name", flat=True)) == [name]


def test_newline_within_a_name_costs_only_its_line(send: Send) -> None:
    answer = send(around("diskio,host=h1,name=s\nda reads=1i"))

    assert answer.status_code == 204
    assert [line for line, _ in reasons()] == [2, 3]
    assert stored_devices() == {"first", "last"}


def test_bytes_that_are_no_text_cost_only_their_line(send: Send) -> None:
    first, last = disk_line(now(), name="first"), disk_line(now(), name="last")

    answer = send(first.encode() + b"\ndiskio,host=\xff\xfe,name=sda reads=1i\n" + last.encode())

    assert answer.status_code == 204
    assert reasons() == [(2, "the line is not valid UTF-8")]
    assert stored_devices() == {"first", "last"}


def test_times_just_within_the_limits_are_stored(send: Send) -> None:
    early = disk_line(now() - timedelta(days=30) + timedelta(minutes=1), name="early")
    late = disk_line(now() + timedelta(minutes=9), name="late")

    answer = send(f"{early}\n{late}")

    assert (answer.status_code, reasons()) == (204, [])
    assert stored_devices() == {"early", "late"}


@pytest.mark.parametrize(
    ("spoil", "status", "message"),
    [
        pytest.param(
            lambda packed: packed[:-10], 400, "the gzip body ends too early", id="truncated gzip"
        ),
        pytest.param(lambda packed: packed[5:], 400, "not valid gzip", id="no gzip"),
        pytest.param(lambda packed: b"", 400, "the body is empty", id="empty"),
        pytest.param(lambda packed: packed, 204, "", id="whole"),
    ],
)
def test_unreadable_body_is_refused_whole(
    client: Client,
    tenant: Tenant,
    spoil: Callable[[bytes], bytes],
    status: int,
    message: str,
) -> None:
    answer = client.post(
        "/api/v2/write",
        spoil(gzip.compress(disk_line(now()).encode())),
        content_type="text/plain",
        headers={"Authorization": f"Token {tenant.secret}", "Content-Encoding": "gzip"},
    )

    assert answer.status_code == status
    assert message in answer.content.decode()
    assert stored_devices() == ({"sda"} if status == 204 else set())


def test_gzip_bomb_is_413_and_later_bodies_are_stored(client: Client, tenant: Tenant) -> None:
    bomb = gzip.compress(f"{disk_line(now())}\n".encode() * 20_000) * 100

    answer = client.post(
        "/api/v2/write",
        bomb,
        content_type="text/plain",
        headers={"Authorization": f"Token {tenant.secret}", "Content-Encoding": "gzip"},
    )

    assert (answer.status_code, answer.json()["code"]) == (413, "request too large")
    assert stored_devices() == set()
    assert post(client, disk_line(now()), secret=tenant.secret).status_code == 204


def test_line_that_no_division_can_fit_is_refused_for_good_and_recorded(
    client: Client, tenant: Tenant, settings: object
) -> None:
    # With 413 Telegraf would send it again for ever, and nothing behind it would arrive.
    settings.MAX_BODY_BYTES = 2000  # type: ignore[attr-defined]
    line = f'diskio,host=h1,name=sda reads=1i,note="{"x" * 3000}"'

    answer = post(client, line, secret=tenant.secret)

    assert answer.status_code == 400
    assert answer.json()["message"] == "one line is larger than the 2000 bytes of a whole body"
    refused = RejectedLine.objects.get()
    assert refused.line == line[:200]
    assert post(client, disk_line(now()), secret=tenant.secret).status_code == 204


@pytest.mark.parametrize(
    ("query", "encoding", "expected"),
    [
        ("", "br", (415, "Content-Encoding 'br' is not understood; use gzip or identity")),
        ("?precision=h", "", (400, 'precision "h" is not understood; it can be ns, us, ms, s')),
    ],
)
def test_request_that_is_not_understood_says_what_is(
    client: Client, tenant: Tenant, query: str, encoding: str, expected: tuple[int, str]
) -> None:
    answer = client.post(
        f"/api/v2/write{query}",
        disk_line(now()),
        content_type="text/plain",
        headers={"Authorization": f"Token {tenant.secret}", "Content-Encoding": encoding},
    )

    assert (answer.status_code, answer.json()["message"]) == expected
    assert stored_devices() == set()
