"""`sluice esxtop` as Telegraf starts it: lines come with each row, and it ends with its reader."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ingest.models import DiskioSample, RejectedLine
from tests.ingest.scenario import make_tenant, now
from tests.ingest.wire import Collector, WebServer, eventually

SLUICE = Path(sys.executable).with_name("sluice")
HEADER = (
    r'"(PDH-CSV 4.0) (UTC)(0)","\\esx1\Physical Disk SCSI Device(naa.1)\Reads/sec"' + "\n"
).encode()
DEADLINE_S = 60
Start = Callable[..., subprocess.Popen[bytes]]


def row(second: int, reads: str) -> bytes:
    return f'"12/11/2012 20:20:{second:02}","{reads}"\n'.encode()


def line(second: int, reads: float) -> bytes:
    # 2012-12-11 20:20:00 UTC
    return (
        "esxtop_physical_disk_scsi_device,device=naa.1,host=esx1,instance=naa.1"
        f" reads_per_sec={reads} {1355257200 + second}000000000\n"
    ).encode()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    with ExitStack() as started:

        def begin(*arguments: object) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(
                [SLUICE, "esxtop", *map(str, arguments)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, "SLUICE_SECRET_KEY": "unused"},
            )
            started.enter_context(process)
            started.callback(process.kill)
            return process

        yield begin


def write(process: subprocess.Popen[bytes], data: bytes) -> None:
    assert process.stdin
    process.stdin.write(data)
    process.stdin.flush()


def read_line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout
    return process.stdout.readline()


def test_row_of_standard_input_is_printed_when_its_line_ends(start: Start) -> None:
    process = start()
    write(process, HEADER + row(0, "1.50"))

    first = read_line(process)
    write(process, row(5, "2.50"))

    # Its input is open: nothing waited for the next row.
    assert first == line(0, 1.5)
    assert read_line(process) == line(5, 2.5)


def test_end_of_standard_input_ends_it_and_a_torn_row_is_named_once(start: Start) -> None:
    torn = row(5, "2.50")[:-3]

    out, log = start().communicate(HEADER + row(0, "1.50") + torn, timeout=DEADLINE_S)

    assert out == line(0, 1.5)
    assert log == b"W! esxtop: line 3: the row is cut off\n"


def test_esxtop_that_says_nothing_is_an_error(start: Start) -> None:
    process = start()

    _, log = process.communicate(b"Connection closed\n", timeout=DEADLINE_S)

    assert process.returncode == 1
    assert log.splitlines()[-1] == (
        b'sluice: esxtop: the file has no line that begins with "(PDH-CSV 4.0)"'
    )


def test_host_that_the_file_does_not_name_is_asked_for_and_given(start: Start) -> None:
    body = HEADER.replace(b"esx1", b"localhost") + row(0, "1.50")

    refused, answered = start(), start("--host", "esx1")
    _, log = refused.communicate(body, timeout=DEADLINE_S)
    out, _ = answered.communicate(body, timeout=DEADLINE_S)

    assert b"name it with --host" in log
    assert out == line(0, 1.5)


def test_file_is_followed_until_nobody_reads_any_more(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "esxtop.csv"
    path.write_bytes(HEADER)
    process = start(path)
    assert process.stdout
    # What was written before its first look is none of its business.
    for second in range(60):
        with path.open("ab") as file:
            file.write(row(second, "1.50"))
        if select.select([process.stdout], [], [], 1)[0]:
            break
    assert read_line(process) in {line(second, 1.5) for second in range(60)}
    path.rename(tmp_path / "esxtop.csv.1")
    path.write_bytes(HEADER + row(5, "2.50"))
    assert line(5, 2.5) in iter(lambda: read_line(process), b"")

    process.stdout.close()

    # The file says nothing more, and still it ends.
    assert process.wait(DEADLINE_S) == 0


@pytest.mark.telegraf
def test_telegraf_sends_what_esxtop_writes(
    committed: None, telegraf: Path, tmp_path: Path
) -> None:
    server = WebServer(tmp_path)
    collector = Collector(
        telegraf, tmp_path, url=server.url, secret=make_tenant("northgate").secret
    )
    time = f"{now():%m/%d/%Y %H:%M:%S}"
    file = tmp_path / "esxtop.csv"
    file.write_bytes(HEADER + f'"{time}","1.50"\n'.encode())

    try:
        server.start()
        collector.start(script=f"export SLUICE_SECRET_KEY=unused; cat {file} | {SLUICE} esxtop")
        eventually(
            DiskioSample.objects.filter(series__host__name="esx1").exists,
            what=f"a sample of esx1; see {collector.log}",
        )
    finally:
        collector.kill()
        server.stop()

    # A rate is kept in thousandths.
    (kept,) = DiskioSample.objects.filter(series__host__name="esx1")
    assert (kept.series.subject, kept.reads) == ("naa.1", 1500)
    assert not RejectedLine.objects.exists()
