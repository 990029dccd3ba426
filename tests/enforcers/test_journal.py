"""What journald is sent, over a real datagram socket, and what happens when it does not listen."""

import io
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from enforcers import journal
from enforcers.journal import JournalHandler, encoded, is_journal
from enforcers.log_format import KeyValueFormatter, extra_of
from tests.enforcers.agent_bench import Bench
from tests.enforcers.policies import vnic


@pytest.fixture
def address(tmp_path: Path) -> str:
    return str(tmp_path / "journal")


@pytest.fixture
def journald(address: str) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(address)
        listening.setblocking(False)
        yield listening


@pytest.fixture
def stderr() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def log(address: str, stderr: io.StringIO) -> Iterator[logging.Logger]:
    handler = JournalHandler(KeyValueFormatter().brief, extra_of, address=address, stream=stderr)
    found = logging.Logger("enforcers.test")  # noqa: LOG001  (no other handler may hear it)
    found.addHandler(handler)
    yield found
    handler.close()


def decoded(datagram: bytes) -> dict[str, str]:
    """As journald reads it: NAME=value, or NAME, eight bytes of length and the value."""
    fields, rest = {}, datagram
    while rest:
        line, _, after = rest.partition(b"\n")
        name, is_plain, value = line.partition(b"=")
        if not is_plain:
            length = int.from_bytes(after[:8], "little")
            value, rest = after[8 : 8 + length], after[8 + length :]
            assert rest[:1] == b"\n"
            after = rest[1:]
        assert name.decode() not in fields
        fields[name.decode()] = value.decode()
        rest = after
    return fields


def received(journald: socket.socket) -> list[dict[str, str]]:
    datagrams = []
    while True:
        try:
            datagrams.append(decoded(journald.recv(1 << 20)))
        except BlockingIOError:
            return datagrams


def test_each_value_is_a_field_of_its_own(journald: socket.socket, log: logging.Logger) -> None:
    about = {"revision": 7, "device": "8:0", "workload": "db orders", "outcome": "failed"}
    log.warning("allocation falls short", extra=about)

    assert received(journald) == [
        {
            "MESSAGE": "allocation falls short device=8:0 outcome=failed revision=7 "
            'workload="db orders"',
            "PRIORITY": "4",
            "SYSLOG_IDENTIFIER": "sluice-enforcer",
            "LOGGER": "enforcers.test",
            "SLUICE_DEVICE": "8:0",
            "SLUICE_OUTCOME": "failed",
            "SLUICE_REVISION": "7",
            "SLUICE_WORKLOAD": "db orders",
        }
    ]


@pytest.mark.parametrize(
    ("level", "priority"),
    [
        (logging.DEBUG, "7"),
        (logging.INFO, "6"),
        (logging.WARNING, "4"),
        (logging.ERROR, "3"),
        (logging.CRITICAL, "2"),
    ],
)
def test_level_is_the_priority_of_syslog(
    journald: socket.socket, log: logging.Logger, level: int, priority: str
) -> None:
    log.log(level, "x")

    assert received(journald)[0]["PRIORITY"] == priority


def test_line_break_in_a_value_makes_no_field(
    journald: socket.socket, log: logging.Logger
) -> None:
    log.info("x", extra={"workload": "a\nPRIORITY=0\n"})

    (record,) = received(journald)
    assert record["SLUICE_WORKLOAD"] == "a\nPRIORITY=0\n"
    assert record["PRIORITY"] == "6"


def test_traceback_is_part_of_the_message(journald: socket.socket, log: logging.Logger) -> None:
    try:
        raise ValueError("odd")
    except ValueError:
        log.exception("round failed")

    message = received(journald)[0]["MESSAGE"].splitlines()
    assert (message[0], message[-1]) == ("round failed", "ValueError: odd")


def test_absent_value_has_no_field(journald: socket.socket, log: logging.Logger) -> None:
    log.info("x", extra={"revision": None})

    assert "SLUICE_REVISION" not in received(journald)[0]


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("state-dir", "SLUICE_STATE_DIR"),
        ("naïve", "SLUICE_NA_VE"),
        ("k" * 99, "SLUICE_" + "K" * 57),
    ],
)
def test_name_of_a_field_is_one_that_journald_takes(
    journald: socket.socket, log: logging.Logger, key: str, name: str
) -> None:
    log.info("x", extra={key: "v"})

    assert received(journald)[0][name] == "v"
    assert len(name) <= 64


def test_text_that_is_no_unicode_is_sent_all_the_same() -> None:
    assert encoded({"MESSAGE": "a\udc80"}) == b"MESSAGE=a?\n"


def test_without_a_socket_the_line_goes_to_standard_error_with_its_priority(
    log: logging.Logger, stderr: io.StringIO
) -> None:
    log.error("round failed", extra={"error": "odd\ntwo"})

    assert stderr.getvalue() == '<3>round failed error="odd\\ntwo"\n'


def test_record_that_is_too_long_for_a_datagram_goes_to_standard_error(
    journald: socket.socket, log: logging.Logger, stderr: io.StringIO
) -> None:
    log.info("x", extra={"reason": "y" * 10_000_000})

    assert received(journald) == []
    assert len(stderr.getvalue()) == len("<6>x reason=\n") + 10_000_000


def test_journal_that_is_too_slow_delays_nobody_and_is_told_what_was_lost(
    journald: socket.socket, log: logging.Logger, stderr: io.StringIO
) -> None:
    for _ in range(10_000):
        log.info("x", extra={"reason": "y" * 1000})
    taken = received(journald)
    log.info("after")
    log.info("last")

    after, last = received(journald)
    assert 0 < len(taken) < 10_000
    assert after["SLUICE_LOST_BEFORE"] == str(10_000 - len(taken))
    assert "SLUICE_LOST_BEFORE" not in last
    assert stderr.getvalue() == ""


def test_journal_is_known_by_device_and_inode(tmp_path: Path) -> None:
    with (tmp_path / "stream").open("w") as stream:
        found = os.fstat(stream.fileno())
        here = f"{found.st_dev}:{found.st_ino}"

        assert is_journal(stream, {"JOURNAL_STREAM": here})
        # What a shell or a program in between has led elsewhere is no journal any more.
        assert not is_journal(stream, {"JOURNAL_STREAM": f"{here}0"})
        assert not is_journal(stream, {})
        assert not is_journal(io.StringIO(), {"JOURNAL_STREAM": here})


SPEAK = """
import logging, os, sys
from enforcers import journal
from enforcers.log_format import start_logging
found = os.fstat(2)
if sys.argv[2] == "yes":
    os.environ["JOURNAL_STREAM"] = f"{found.st_dev}:{found.st_ino}"
journal.SOCKET = sys.argv[1]
start_logging(verbose=False)
logging.getLogger("enforcers").info("agent started", extra={"host": "h1"})
"""


@pytest.mark.parametrize("by_systemd", [True, False])
def test_process_of_systemd_speaks_to_the_journal_and_any_other_as_before(
    journald: socket.socket, address: str, by_systemd: bool
) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "JOURNAL_STREAM"}
    done = subprocess.run(
        [sys.executable, "-c", SPEAK, address, "yes" if by_systemd else "no"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )

    records = received(journald)
    if by_systemd:
        assert done.stderr == ""
        assert [record["SLUICE_HOST"] for record in records] == ["h1"]
    else:
        assert records == []
        assert done.stderr.endswith('level=info msg="agent started" host=h1\n')


def test_default_socket_is_that_of_journald() -> None:
    assert journal.SOCKET == "/run/systemd/journal/socket"


def outcomes(caplog: pytest.LogCaptureFixture) -> list[tuple[str, int, str, str, str]]:
    found = [
        (
            record.message,
            record.__dict__["revision"],
            *(str(record.__dict__[key]) for key in ("device", "workload", "outcome")),
        )
        for record in caplog.records
        if record.name == "enforcers.outcome_log"
    ]
    caplog.clear()
    return found


def test_outcome_of_each_workload_is_logged_when_it_changes(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    bench.publish(vnic(1, limit=50e6), vnic(9), revision=7)
    bench.tick()
    assert outcomes(caplog) == [
        ("allocation in force", 7, "up0", "vm1", "applied"),
        ("allocation falls short", 7, "up0", "vm9", "failed"),
    ]

    bench.tick()
    assert outcomes(caplog) == []

    bench.tc.run(["tc", "qdisc", "del", "dev", "up0", "root"])
    bench.tick()
    assert outcomes(caplog) == [("allocation in force", 7, "up0", "vm1", "drifted")]

    bench.publish(vnic(1, limit=50e6), revision=8)
    bench.tick()
    assert outcomes(caplog) == []


def test_allocation_that_comes_into_force_after_all_is_told(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    bench.tc.refuse = "qdisc add"
    bench.publish(vnic(1), revision=7)
    bench.tick()
    assert [one[0] for one in outcomes(caplog)] == ["allocation falls short"]

    bench.tc.refuse = None
    bench.tick(after_s=60.0)
    assert [one[0] for one in outcomes(caplog)] == ["allocation in force"]


def test_nothing_is_said_to_be_in_force_in_a_dry_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    bench = Bench(tmp_path, dry_run=True)
    bench.publish(vnic(1))
    bench.tick()

    assert outcomes(caplog) == []
