"""`sluice import`: what is stored of files, what is asked, and what the report says."""

from __future__ import annotations

import gzip
import json
import shutil
from collections import OrderedDict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Organisation
from advisor.history import inventory
from advisor.models import Incident, Resource
from advisor.queries.health import health_figures
from advisor.queries.hosts import sample_trouble
from advisor.queries.import_report import import_report
from ingest.models import DiskioSample, Host, Import, ImportRun, ImportState

pytestmark = pytest.mark.django_db

COLUMNS = "Device r/s rkB/s r_await w/s wkB/s w_await aqu-sz %util"
WINDOW = timedelta(seconds=10)


@pytest.fixture(autouse=True)
def organisation() -> Organisation:
    return Organisation.objects.create(slug="acme", name="Acme")


def imported(*words: str | Path) -> dict[str, Any]:
    out = StringIO()
    call_command("import", *map(str, words), "--json", stdout=out)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def printed(*words: str | Path) -> str:
    out = StringIO()
    call_command("import", *map(str, words), stdout=out)
    return out.getvalue()


def whole_minute(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)


def iostat(since: datetime, awaits_ms: list[float], *, host: str = "h1", zone: str = "Z") -> str:
    """Reports each 10 s, with 200 reads a second that take so long, and an idle second disk."""

    def lines() -> Iterator[str]:
        yield f"Linux 6.1.0 ({host}) \t{since:%Y-%m-%d} \t_x86_64_\t(4 CPU)\n"
        # The first report is that since the machine started.
        for number, await_ms in enumerate([0.0, *awaits_ms]):
            at = since + number * WINDOW
            yield f"{at:%Y-%m-%dT%H:%M:%S}{zone}"
            yield COLUMNS
            queue = 0.2 * await_ms
            yield f"sda 200.00 1600.00 {await_ms:.2f} 0.00 0.00 0.00 {queue:.2f} 50.00"
            yield "sdb 1.00 8.00 1.00 0.00 0.00 0.00 0.00 0.10"
            yield ""

    return "\n".join(lines()) + "\n"


# Levels are those of I/Os of 8,000 bytes, so 80 ms of I/Os of 8 KiB are shown as 79.7 ms.
CONGESTED = [2.0] * 30 + [80.0] * 30 + [2.0] * 30
"""Five minutes each: calm, congested (the threshold of a datastore is 30 ms), calm."""


def congested_since() -> datetime:
    """So that all of it was over half an hour ago."""
    return whole_minute(datetime.now(UTC)) - timedelta(hours=1)


def test_report_says_what_was_congested_and_when(tmp_path: Path) -> None:
    since = congested_since()
    (tmp_path / "iostat.txt").write_text(iostat(since, CONGESTED))

    report = imported(tmp_path)

    (file,) = report["files"]
    assert (file["format"], file["state"], file["accepted"]) == ("iostat", "done", 180)
    assert file["hosts"] == ["h1"]
    sda, sdb = report["resources"]
    (incident,) = sda["incidents"]
    began = datetime.fromisoformat(incident["since"])
    assert since + timedelta(minutes=4) <= began <= since + timedelta(minutes=7)
    assert incident["until"] is not None
    assert (sda["name"], incident["peak"], incident["threshold"]) == (
        "h1/sda",
        "79.7 ms",
        "30.0 ms",
    )
    assert incident["by_whom"].startswith("cannot be told: ")
    assert (sdb["incidents"], sdb["gap"], sdb["windows"]) == ([], "", 89)


def test_host_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "iostat.txt").write_text(iostat(congested_since(), CONGESTED))
    imported(tmp_path)
    host = Host.objects.get()
    now = datetime.now(UTC)

    assert (host.name, host.heard_at) == ("h1", None)
    assert sample_trouble(host, now=now) == ""
    found = health_figures(organisation=host.organisation, now=now, with_installation=False).ingest
    assert (found.hosts, found.silent, found.lags) == (0, 0, ())

    # Once it sends itself, it is a host like any.
    host.heard_at = now
    host.save()
    assert "No samples" in sample_trouble(host, now=now)


def test_report_is_printed(tmp_path: Path) -> None:
    (tmp_path / "iostat.txt").write_text(iostat(congested_since(), CONGESTED))

    text = printed(tmp_path)

    assert "h1/sda was congested, worst 79.7 ms" in text
    assert "By whom: cannot be told" in text
    assert "Would have helped: " in text
    assert "Not congested\n  h1/sdb: worst 0.997 ms" in text


def test_same_file_again_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "iostat.txt"
    file.write_text(iostat(congested_since(), CONGESTED))
    first = imported(file)
    stored = list(DiskioSample.objects.order_by("series", "time").values())
    shutil.copy(file, tmp_path / "copy.txt")

    again = imported(tmp_path)

    assert list(DiskioSample.objects.order_by("series", "time").values()) == stored
    assert Import.objects.count() == 1
    assert again["resources"] == first["resources"]
    assert Incident.objects.count() == 1


def test_zone_that_puts_a_file_into_the_future_stores_only_what_was(tmp_path: Path) -> None:
    since = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    (tmp_path / "iostat.txt").write_text(iostat(since, [2.0] * 3, zone=""))

    out = StringIO()
    with pytest.raises(CommandError, match="no sample was stored; the table above says why"):
        call_command("import", str(tmp_path), "--zone=UTC", stdout=out)

    assert "the time is more than 10 minutes in the future" in out.getvalue()
    assert not DiskioSample.objects.exists()


def test_file_that_asks_is_answered_by_options(tmp_path: Path) -> None:
    since = congested_since()
    local = since + timedelta(hours=2)
    (tmp_path / "iostat.txt").write_text(iostat(local, [2.0] * 3, zone=""))

    with pytest.raises(CommandError, match=r"does not name the time zone.*--zone ZONE"):
        imported(tmp_path)
    assert not DiskioSample.objects.exists()
    imported(tmp_path, "--zone", "Etc/GMT-2")

    first = DiskioSample.objects.order_by("time").first()
    assert first is not None
    assert first.time == since + WINDOW
    assert [one.state for one in Import.objects.all()] == [ImportState.DONE, ImportState.QUESTION]


def test_files_older_than_what_is_kept_are_told_of_and_moved(tmp_path: Path) -> None:
    since = datetime(2019, 3, 22, 10, tzinfo=UTC)
    (tmp_path / "iostat.txt").write_text(iostat(since, CONGESTED))

    with pytest.raises(CommandError, match="no sample was stored"):
        imported(tmp_path)
    report = imported(tmp_path, "--shift-to", "now")

    newest = datetime.fromisoformat(report["until"])
    assert timedelta(0) <= datetime.now(UTC) - newest < timedelta(minutes=2)
    assert report["shift_s"] % 60 == 0
    assert newest - timedelta(seconds=report["shift_s"]) == since + 90 * WINDOW
    assert report["shift"].startswith("All times are moved")
    assert len(report["resources"][0]["incidents"]) == 1


def test_import_goes_on_where_it_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.imports.store.BATCH_POINTS", 50)
    (tmp_path / "iostat.txt").write_text(iostat(congested_since(), CONGESTED))
    monkeypatch.setattr("ingest.imports.store.store_file", _failing_after(2, monkeypatch))
    with pytest.raises(KeyboardInterrupt):
        imported(tmp_path)
    row = Import.objects.get()
    assert (row.state, row.position) == (ImportState.RUNNING, 100)
    monkeypatch.undo()

    report = imported(tmp_path)

    # 90 reports of two disks; what was stored before is not stored again.
    assert DiskioSample.objects.count() == 180
    assert (report["files"][0]["accepted"], report["files"][0]["changed_rows"]) == (180, 180)


def _failing_after(batches: int, monkeypatch: pytest.MonkeyPatch) -> Any:
    from ingest.write import store_file

    left = [batches]

    def store(*args: Any, **kwargs: Any) -> Any:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return store_file(*args, **kwargs)

    return store


def test_unknown_files_and_archives_in_archives_are_named(tmp_path: Path) -> None:
    (tmp_path / "iostat.txt.gz").write_bytes(
        gzip.compress(iostat(congested_since(), [2.0] * 3).encode())
    )
    (tmp_path / "notes.txt").write_text("nothing of any use\n")

    report = imported(tmp_path)

    assert [(one["state"], one["format"]) for one in report["files"]] == [
        ("done", "iostat"),
        ("unknown", ""),
    ]


def test_late_file_is_judged_though_the_resource_was(tmp_path: Path) -> None:
    since = congested_since()
    (tmp_path / "b.txt").write_text(iostat(since + timedelta(minutes=20), [2.0] * 30))
    imported(tmp_path / "b.txt")
    (tmp_path / "a.txt").write_text(iostat(since, CONGESTED))
    (tmp_path / "c.txt").write_text(iostat(since - timedelta(minutes=20), CONGESTED))

    first = imported(tmp_path / "a.txt")
    second = imported(tmp_path / "c.txt")

    assert len(first["resources"][0]["incidents"]) == 1
    assert len(second["resources"][0]["incidents"]) == 1
    assert Incident.objects.count() == 2


def esxtop(since: datetime) -> str:
    """Every 10 s: db reads 100 times a second, backup 2,000 times in the second five minutes."""
    device = "Physical Disk SCSI Device(naa.6001)"
    rates = ("Reads/sec", "Writes/sec", "MBytes Read/sec", "MBytes Written/sec")
    header = [
        *(f"{device}\\{one}" for one in rates),
        f"{device}\\Average Driver MilliSec/Read",
        f"{device}\\Average Driver MilliSec/Write",
        *(f"Virtual Disk({vm}:scsi0:0)\\{one}" for vm in ("db", "backup") for one in rates),
    ]
    lines = [["(PDH-CSV 4.0) (UTC)(0)", *(rf"\\esx1\{one}" for one in header)]]
    for number in range(91):
        backup = 2000.0 if 30 < number <= 60 else 10.0
        reads, latency = (100.0 + backup, 60.0 if backup > 10 else 2.0)
        own = [(rate, 0.0, rate * 8 / 1024, 0.0) for rate in (reads, 100.0, backup)]
        device_row, db_row, backup_row = own
        row = [*device_row, latency, 0.0, *db_row, *backup_row] if number else [0.0] * 14
        at = since + number * WINDOW
        lines.append([f"{at:%m/%d/%Y %H:%M:%S}", *(f"{value:.2f}" for value in row)])
    return "".join(",".join(f'"{cell}"' for cell in line) + "\n" for line in lines)


def test_culprit_of_a_file_of_esxtop_is_named(tmp_path: Path) -> None:
    """One device and two machines: nothing is typed but the name of the file."""
    (tmp_path / "esx1.csv").write_text(esxtop(congested_since()))

    report = imported(tmp_path)

    (device,) = [one for one in report["resources"] if one["incidents"]]
    (incident,) = device["incidents"]
    assert incident["by_whom"].startswith("backup (")
    assert incident["at_expense_of"] == "nobody got less than its entitlement"
    assert "naa.6001" in incident["would_have_helped"]


def test_report_remembers_nothing_that_threads_of_a_web_server_would_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "esx1.csv").write_text(esxtop(congested_since()))
    printed(tmp_path)
    kept: OrderedDict[object, object] = OrderedDict()
    monkeypatch.setattr(inventory, "_kept", kept)

    report = import_report(ImportRun.objects.get(), now=datetime.now(UTC))

    (incident,) = [one for resource in report.resources for one in resource.incidents]
    assert "naa.6001" in incident.would_have_helped
    assert not kept


def test_devices_are_found_though_a_moment_ago_it_was_looked_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("advisor.decisions.found.keep.MOST_OF_TIME", 1e-9)
    for host in ("h1", "h2"):
        (tmp_path / host).write_text(iostat(congested_since(), [2.0] * 6, host=host))
    imported(tmp_path / "h1")

    report = imported(tmp_path / "h2")

    assert [one["name"] for one in report["resources"]] == ["h2/sda", "h2/sdb"]


def test_capture_of_iostat_without_times_and_latencies(shared_dir: Path) -> None:
    """Real: 60 reports of `iostat`, without -x and -t, of 2019."""
    capture = shared_dir / "data" / "iostat" / "kerub"
    with pytest.raises(CommandError, match=r"reports have no times.*--first-at TIME"):
        imported(capture)
    first_at = whole_minute(datetime.now(UTC)) - timedelta(hours=1)

    report = imported(capture, "--first-at", first_at.isoformat(), "--every", "10")

    assert report["hosts"] == ["localshot"]
    sda = next(one for one in report["resources"] if one["name"] == "localshot/sda")
    assert "lack read_time, write_time" in sda["gap"]


@pytest.mark.django_db(transaction=True)  # of one moment come several files
def test_capture_of_diskstats_of_one_moment(shared_dir: Path) -> None:
    """Real: `/proc/diskstats` of 14, 18 and 20 fields, and other files, without any time."""
    now = whole_minute(datetime.now(UTC))

    report = imported(
        shared_dir / "data" / "linux-proc", "--host", "h1", "--first-at", now.isoformat()
    )

    formats = {one["format"] for one in report["files"] if one["accepted"]}
    assert formats == {"diskstats"}
    sda = next(one for one in report["resources"] if one["name"] == "h1/sda")
    assert "a rate needs two" in sda["gap"]
    assert Resource.objects.filter(name="h1/sda").exists()
