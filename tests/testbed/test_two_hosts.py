"""Two hosts with one LUN and one NFS export: the agent's reader on one, Telegraf on the other."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ingest
from ingest.models import (
    CgroupPressureSample,
    CgroupSample,
    DiskioSample,
    MountSample,
    RejectedLine,
    Series,
    UnknownMeasurement,
)
from tests.testbed.conftest import Laboratory, wait_for
from tests.testbed.guest import HOST, WWN, Guest, shared_disk
from tests.testbed.nfs_server import EXPORT, nfs_server
from tests.testbed.telegraf import configuration

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.root,
    pytest.mark.guests,
    pytest.mark.telegraf,
    pytest.mark.slow,
    # Guests are emulated; on a busy machine each takes half a minute until it is up.
    pytest.mark.timeout(400),
]

CHECKOUT = Path(ingest.__file__).parents[1]
READER, TELEGRAF = "kvm1", "kvm2"
NFS = f"{HOST}:{EXPORT}"
WORKLOAD = "system.slice/backup.service"
STOCK_INPUTS = ("diskio", "net", "system", "cgroup", "kernel", "nfs")

# A backup that reads and writes the LUN and the export, in a cgroup as systemd makes it.
LOAD = f"""
for place in /mnt/store /mnt/again; do
    mkdir $place
    mount -i -t nfs4 -o vers=4.2,soft,addr={HOST},clientaddr=10.0.2.15,port=@PORT@ {NFS} $place
done
mkdir -p /sys/fs/cgroup/{WORKLOAD}
echo +io >/sys/fs/cgroup/system.slice/cgroup.subtree_control
backup() {{
    echo 0 >/sys/fs/cgroup/{WORKLOAD}/cgroup.procs
    while :; do
        dd if=/dev/sda of=/dev/null bs=16k count=20 iflag=direct
        dd if=/dev/zero of=/dev/sda bs=16k count=10 oflag=direct conv=notrunc
        dd if=/dev/zero of=/mnt/store/$guest_name bs=16k count=10 oflag=direct conv=notrunc
        dd if=/mnt/again/$guest_name of=/dev/null bs=16k count=10 iflag=direct
        sleep 0.5
    done 2>/run/backup.log
}}
backup &
"""


def reader_script(laboratory: Laboratory) -> str:
    """Enrol nothing, type nothing: a token, and the reader is on."""
    folder = laboratory.folder
    (folder / "ingest-token").write_text(laboratory.tenant.secret)
    (folder / "ingest-token").chmod(0o600)
    (folder / "agent.toml").write_text(
        f'[agent]\nhost = "{READER}"\nstate_dir = "/run/state"\n'
        f"[server]\nurl = {json.dumps(laboratory.server.url)}\n"
        '[reader]\non = true\ntoken_file = "ingest-token"\ninterval_s = 2\n'
    )
    return f"cd {CHECKOUT}\n{sys.executable} -m enforcers read --config {folder}/agent.toml\n"


def telegraf_script(laboratory: Laboratory, program: Path) -> str:
    """Telegraf with the inputs as the READMEs of the sources show them."""
    inputs = "\n".join(documented(name) for name in STOCK_INPUTS)
    path = laboratory.folder / "telegraf.conf"
    path.write_text(
        configuration(inputs, url=laboratory.server.url, secret=laboratory.tenant.secret)
    )
    return f"{program} --config {path}\n"


def documented(source: str) -> str:
    """The configuration that a source's README shows."""
    text = (CHECKOUT / "ingest/sources" / source / "README.md").read_text()
    found = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return found[1]


def grown(host: str, device: str) -> int:
    """How many reads and writes lie between the first sample of a device and the last."""
    rows = DiskioSample.objects.filter(series__host__name=host, series__subject=device)
    counts = [(row.reads or 0) + (row.writes or 0) for row in rows.order_by("time")]
    return counts[-1] - counts[0] if counts else 0


@pytest.fixture(scope="module")
def hosts(laboratory: Laboratory, telegraf: Path) -> Iterator[Laboratory]:
    """Both hosts, from their start until each was seen at work."""
    folder = laboratory.folder
    lun = folder / "lun"
    lun.touch()
    os.truncate(lun, 1 << 30)
    port = laboratory.server.port
    with nfs_server(folder) as nfs_port:
        load = LOAD.replace("@PORT@", str(nfs_port))
        scripts = {
            READER: reader_script(laboratory), TELEGRAF: telegraf_script(laboratory, telegraf)
        }  # fmt: skip
        guests: dict[str, Guest] = {}
        try:
            for name, script in scripts.items():
                guests[name] = Guest(
                    name,
                    folder,
                    script=load + script,
                    port=port,
                    devices=shared_disk(lun, iops=300),
                )
            for name, guest in guests.items():
                wait_for(
                    lambda name=name: all(grown(name, device) > 40 for device in ("sda", NFS)),
                    what=f"samples from {name} of disk and export at work",
                    or_show=guest.console,
                    deadline_s=180,
                )
            laboratory.find()
            yield laboratory
        finally:
            for guest in guests.values():
                guest.stop()


def test_both_collectors_state_the_one_wwn_of_the_lun(hosts: Laboratory) -> None:
    stated = {
        (host, disk, value.lower().removeprefix("0x").removeprefix("naa."))
        for host, disk, value in hosts.said("device", "wwn")
    }

    assert stated == {(READER, "sda", WWN), (TELEGRAF, "sda", WWN)}
    assert not RejectedLine.objects.exists()
    assert not UnknownMeasurement.objects.exists()


def test_lun_and_export_are_one_datastore_each_of_both_hosts(hosts: Laboratory) -> None:
    found = hosts.datastores()

    assert len(found) == 2
    assert {(READER, "sda"), (TELEGRAF, "sda")} in found
    assert {(READER, NFS), (TELEGRAF, NFS)} in found


@pytest.mark.parametrize("host", [READER, TELEGRAF])
def test_unit_is_a_workload_of_the_lun_without_a_typed_word(hosts: Laboratory, host: str) -> None:
    assert hosts.allocations(f"{host}/backup.service") == {(host, f"naa.{WWN}")}


@pytest.mark.parametrize("host", [READER, TELEGRAF])
def test_lun_has_ios_with_latency_from_both(hosts: Laboratory, host: str) -> None:
    rows = DiskioSample.objects.filter(series__host__name=host, series__subject="sda")

    first, last = rows.earliest("time"), rows.latest("time")

    reads, writes = last.reads - first.reads, last.writes - first.writes
    assert reads > 0
    assert writes > 0
    assert last.read_time > first.read_time
    assert last.write_time > first.write_time
    assert last.read_bytes - first.read_bytes == pytest.approx(reads * 16384, rel=0.5)


@pytest.mark.parametrize("host", [READER, TELEGRAF])
def test_export_mounted_twice_is_one_datastore_with_latency(hosts: Laboratory, host: str) -> None:
    series = Series.objects.get(
        host__name=host, measurement="diskio", subject=NFS
    )  # one, not one for each place
    rows = DiskioSample.objects.filter(series=series)
    first, last = rows.earliest("time"), rows.latest("time")

    assert last.reads > first.reads
    assert last.read_time > first.read_time
    # Every write is one of 16 KiB, whichever of the two places it went through.
    assert last.write_bytes - first.write_bytes == pytest.approx(
        (last.writes - first.writes) * 16384, rel=0.1
    )
    waits = MountSample.objects.filter(series__host__name=host, series__subject=NFS)
    assert waits.latest("time").read_rtt > 0


@pytest.mark.parametrize("host", [READER, TELEGRAF])
def test_cgroup_of_the_workload_is_seen_at_work(hosts: Laboratory, host: str) -> None:
    rows = CgroupSample.objects.filter(
        series__host__name=host, series__subject__endswith=WORKLOAD, series__tags__device="8:0"
    )

    first, last = rows.earliest("time"), rows.latest("time")

    assert last.rios > first.rios
    assert last.wbytes > first.wbytes


def test_reader_says_the_name_of_the_unit(hosts: Laboratory) -> None:
    assert "backup" in {name for host, _, name in hosts.said("workload", "name") if host == READER}


def test_telegraf_says_how_long_the_host_waited(hosts: Laboratory) -> None:
    assert CgroupPressureSample.objects.filter(series__host__name=TELEGRAF).exists()
