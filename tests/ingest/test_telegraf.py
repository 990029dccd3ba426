"""The real Telegraf, with the product's configuration, against the real web server."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from accounts.models import Organisation
from ingest.core.catalogue import DISKIO
from ingest.core.quota.bucket import BURST_S
from ingest.core.quota.limits import Quota
from ingest.models import (
    CollectorSample,
    DiskioSample,
    Host,
    NetSample,
    NstatSample,
    QuotaHit,
    RejectedLine,
    SystemSample,
)
from ingest.quotas.shared_account import report
from tests.ingest.scenario import Tenant, disk_line, make_tenant, now
from tests.ingest.wire import CONFIGURATION, Collector, WebServer, eventually

README = CONFIGURATION.with_name("README.md")


@pytest.fixture
def northgate(committed: None) -> Tenant:
    return make_tenant("northgate")


@pytest.fixture
def server(committed: None, tmp_path: Path) -> Iterator[WebServer]:
    """The web server, not started yet; its bodies may be small."""
    found = WebServer(tmp_path, SLUICE_MAX_BODY_BYTES="20000")
    yield found
    found.stop()


@pytest.fixture
def collector(
    telegraf: Path, tmp_path: Path, server: WebServer, northgate: Tenant
) -> Iterator[Collector]:
    """Telegraf, not started yet."""
    found = Collector(telegraf, tmp_path, url=server.url, secret=northgate.secret)
    yield found
    found.kill()


def lines_file(folder: Path, lines: list[str]) -> str:
    path = folder / "lines.influx"
    path.write_text("".join(f"{line}\n" for line in lines))
    return f"cat {path}"


def sent_samples() -> set[tuple[datetime, int]]:
    """What arrived of the test's own lines: time and count."""
    rows = DiskioSample.objects.filter(series__host__name="made")
    return set(rows.values_list("time", "reads"))


def made_samples(count: int) -> tuple[list[str], set[tuple[datetime, int]]]:
    end = now()
    times = [(end - timedelta(seconds=s), s) for s in range(count)]
    return [disk_line(at, host="made", count=s) for at, s in times], set(times)


@pytest.mark.telegraf
def test_every_input_of_the_configuration_arrives_and_nothing_is_refused(
    server: WebServer, collector: Collector
) -> None:
    server.start()
    collector.start()

    for model in (SystemSample, CollectorSample, NstatSample):
        eventually(
            lambda model=model: model.objects.count() >= 2,
            what=f"samples of {model._meta.db_table}; see {collector.log}",
        )

    assert set(SystemSample.objects.values_list("series__host__name", flat=True)) == {"real"}
    row = SystemSample.objects.latest("time")
    assert None not in (row.load1, row.load5, row.load15, row.n_cpus, row.uptime)
    tcp = NstatSample.objects.latest("time")
    assert None not in (tcp.TcpOutSegs, tcp.TcpRetransSegs)
    assert list(RejectedLine.objects.values_list("reason", flat=True)) == []
    # A machine without disks or interfaces has nothing to send of them.
    for net in NetSample.objects.all()[:3]:
        assert None not in (net.bytes_sent, net.bytes_recv, net.drop_in, net.err_out)
    # Times are finer than the second that Telegraf would round them to.
    assert any(at.microsecond for at in SystemSample.objects.values_list("time", flat=True))


@pytest.mark.telegraf
def test_samples_survive_an_absent_server_and_a_killed_telegraf(
    server: WebServer, collector: Collector, tmp_path: Path
) -> None:
    lines, expected = made_samples(3000)
    last = disk_line(now(), host="last-of-all")
    collector.start(script=lines_file(tmp_path, [*lines, last]))
    eventually(
        lambda: collector.has_buffered("last-of-all"), what=f"a buffer; see {collector.log}"
    )
    collector.kill()

    server.start()
    collector.start()

    eventually(lambda: sent_samples() >= expected, what=f"all samples; see {collector.log}")
    assert sent_samples() == expected
    assert not RejectedLine.objects.exists()


@pytest.mark.telegraf
def test_server_that_restarts_in_between_loses_nothing(
    server: WebServer, collector: Collector, tmp_path: Path
) -> None:
    lines, expected = made_samples(400)
    # Twenty lines, a pause of a quarter of a second, and so on: five seconds in all.
    parts = [lines[start : start + 20] for start in range(0, 400, 20)]
    for number, part in enumerate(parts):
        (tmp_path / f"part{number}").write_text("".join(f"{line}\n" for line in part))
    server.start()
    collector.start(
        script=f"for n in $(seq 0 {len(parts) - 1}); do cat {tmp_path}/part$n; sleep 0.25; done"
    )
    eventually(lambda: len(sent_samples()) > 40, what="the first samples")

    server.stop()
    some = len(sent_samples())
    eventually(lambda: collector.has_buffered("reads"), what="samples that wait")
    server.start()

    eventually(lambda: sent_samples() == expected, what=f"all samples; see {collector.log}")
    assert some < len(expected)


@pytest.mark.valkey
@pytest.mark.telegraf
def test_what_is_above_the_rate_waits_as_long_as_told_and_arrives(
    server: WebServer, collector: Collector, northgate: Tenant, tmp_path: Path, valkey_url: str
) -> None:
    lines, expected = made_samples(400)
    rate = 100
    Organisation.objects.update(quota_points_per_s=rate)
    # The organisation owes what comes in ten seconds.
    used = {Quota.POINTS: round(rate * (BURST_S + 10))}
    report(northgate.organisation.pk, {Quota.POINTS: rate}, used)
    server.start()
    collector.start(script=lines_file(tmp_path, lines))
    eventually(
        lambda: "(429 Too Many Requests)" in collector.log.read_text(),
        what=f"a body that is refused; see {collector.log}",
    )

    eventually(lambda: sent_samples() == expected, what=f"all samples; see {collector.log}")
    told = re.search(r"will retry in ([0-9.]+)s. \(429", collector.log.read_text())
    assert told is not None
    # The debt, and up to half longer by chance; the machine may have been slow.
    assert 1 <= float(told[1]) <= 15
    assert QuotaHit.objects.get().quota == Quota.POINTS
    assert not RejectedLine.objects.exists()


@pytest.mark.telegraf
def test_new_host_above_the_quota_waits_in_telegraf_and_arrives_once_there_is_room(
    server: WebServer, collector: Collector, northgate: Tenant, tmp_path: Path
) -> None:
    Organisation.objects.update(quota_hosts=1)
    Host.objects.create(organisation=northgate.organisation, name="known", heard_at=now())
    times = {now() - timedelta(seconds=s): s for s in range(50)}
    lines = [disk_line(at, host="real", name="made", count=s) for at, s in times.items()]
    server.start()
    collector.start(script=lines_file(tmp_path, lines))
    eventually(QuotaHit.objects.exists, what=f"a body that is refused; see {collector.log}")
    assert set(Host.objects.values_list("name", flat=True)) == {"known"}

    Organisation.objects.update(quota_hosts=2)
    # Sooner than in the five minutes that it was told.
    collector.kill()
    collector.start()

    def arrived() -> dict[datetime, int]:
        rows = DiskioSample.objects.filter(series__subject="made")
        return dict(rows.values_list("time", "reads"))

    eventually(lambda: arrived() == times, what=f"all samples; see {collector.log}")
    assert "will retry in 5m0s. (429 Too Many Requests)" in collector.log.read_text()
    assert not RejectedLine.objects.exists()


@pytest.mark.telegraf
def test_batches_above_the_limit_are_divided_and_a_huge_line_holds_up_nothing(
    server: WebServer, collector: Collector, tmp_path: Path
) -> None:
    lines, expected = made_samples(1000)
    # Larger than a whole body may be: however Telegraf divides, it never fits.
    huge = f'diskio,host=made,name=sda reads=1i,note="{"x" * 30_000}"'
    server.start()
    collector.start(script=lines_file(tmp_path, [*lines[:500], huge, *lines[500:]]))

    eventually(lambda: sent_samples() == expected, what=f"all samples; see {collector.log}")
    assert "413" in collector.log.read_text()
    eventually(RejectedLine.objects.exists, what="the record of the huge line")
    refused = RejectedLine.objects.get()
    assert refused.reason == "one line is larger than the 20000 bytes of a whole body"


@pytest.mark.telegraf
def test_configuration_is_valid_and_warns_of_nothing_that_can_be_helped(
    telegraf: Path, tmp_path: Path
) -> None:
    tried = subprocess.run(
        [telegraf, "--strict-env-handling", "--config", CONFIGURATION, "--test"],
        env={"SLUICE_TOKEN": "x", "SLUICE_BUFFER_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    warnings = [line for line in tried.stderr.splitlines() if " W! " in line or " E! " in line]
    unavoidable = (
        "experimental feature",
        "not used in testing mode",
        "Unable to gather disk name",
    )
    assert [line for line in warnings if not any(text in line for text in unavoidable)] == []


@pytest.mark.telegraf
def test_cgroup_files_become_the_fields_that_are_stored(
    telegraf: Path, tmp_path: Path, shared_dir: Path
) -> None:
    tried = subprocess.run(
        [telegraf, "--strict-env-handling", "--config", CONFIGURATION, "--test",
         "--input-filter", "cgroup"],
        env={
            "SLUICE_TOKEN": "x",
            "SLUICE_BUFFER_DIR": str(tmp_path),
            "SLUICE_CGROUPS": str(shared_dir / "data/telegraf/inputs/cgroup/testdata/v2"),
        },
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )  # fmt: skip

    (line,) = (line for line in tried.stdout.splitlines() if line.startswith("> cgroup,"))
    # From its io.stat (259:8 rbytes=74526720 ...) and io.pressure (total=185162400 ...).
    assert set(line.split(" ")[2].split(",")) == {
        "io.stat.259:8.rbytes=74526720i",
        "io.stat.259:8.wbytes=3789381632i",
        "io.stat.259:8.rios=2936i",
        "io.stat.259:8.wios=181928i",
        "io.pressure.some.total=185162400i",
        "io.pressure.full.total=184607952i",
    }


@pytest.mark.telegraf
def test_every_field_of_disks_that_is_stored_is_sent(telegraf: Path, tmp_path: Path) -> None:
    tried = subprocess.run(
        [telegraf, "--strict-env-handling", "--config", CONFIGURATION, "--test",
         "--input-filter", "diskio"],
        env={"SLUICE_TOKEN": "x", "SLUICE_BUFFER_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )  # fmt: skip

    lines = [line for line in tried.stdout.splitlines() if line.startswith("> diskio,")]
    assert lines
    assert {pair.split("=")[0] for line in lines for pair in line.split(" ")[2].split(",")} == {
        field.name for field in DISKIO.fields
    }


@pytest.mark.telegraf
def test_numbers_of_block_devices_are_those_of_the_kernel(telegraf: Path, tmp_path: Path) -> None:
    tried = subprocess.run(
        [telegraf, "--strict-env-handling", "--config", CONFIGURATION, "--test",
         "--input-filter", "exec"],
        env={"SLUICE_TOKEN": "x", "SLUICE_BUFFER_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )  # fmt: skip

    told = re.findall(
        r"^> block_device,host=\S+,name=(\S+) major=(\d+)i,minor=(\d+)i ",
        tried.stdout,
        re.MULTILINE,
    )
    of_kernel = {
        path.parent.name.replace("!", "/"): path.read_text().strip()
        for path in Path("/sys/class/block").glob("*/dev")
        if not path.parent.name.startswith(("loop", "ram", "zram"))
    }
    assert {name: f"{major}:{minor}" for name, major, minor in told} == of_kernel


def test_readme_names_every_variable_with_the_default_of_the_configuration() -> None:
    used = dict(re.findall(r"\$\{(SLUICE_\w+)(?::-(.*?))?\}", CONFIGURATION.read_text()))
    row = re.compile(r"^\| `(SLUICE_\w+)` \| .* \| (.*) \|$", re.MULTILINE)
    rows = dict(row.findall(README.read_text()))

    told = {name: default.strip("`") for name, default in rows.items()}

    assert told == {
        **used,
        "SLUICE_TOKEN": "required",
        "SLUICE_HOSTNAME": "the kernel's host name",
    }
