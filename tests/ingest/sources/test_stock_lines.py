"""Every shape of line that stock collectors send is kept under its canonical names."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.core.batch import batch_of_points
from ingest.core.mapping import Form
from ingest.core.point import Point
from ingest.sources.registry import SOURCES, find_head
from tests.ingest.sources.stock import NOW_NS, RULES, Kept, batch_of, kept, said

PROXMOX_DISK = (
    "blockstat,object=qemu,vmid=101,nodename=pve1,host=db1,instance=scsi0 "
    "rd_bytes=4096,wr_bytes=8192,rd_operations=1,wr_operations=2,rd_total_time_ns=500000,"
    "wr_total_time_ns=700000,flush_operations=3,flush_total_time_ns=9,failed_rd_operations=0,"
    "idle_time_ns=12,account_failed=1"
)
PROXMOX_GUEST = (
    "system,object=qemu,vmid=101,nodename=pve1,host=db1 "
    'cpu=0.5,cpus=2,mem=100,maxmem=200,diskread=4096,uptime=77,name="db1",status="running"'
)


def row(
    table: str,
    host: str,
    subject: str,
    device: str = "",
    form: Form = Form.COUNTER,
    **values: float,
) -> Kept:
    named = tuple(values.items())
    return Kept(table=table, host=host, subject=subject, device=device, form=form, values=named)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            [("diskio,host=h1,name=sda,serial=S1,wwid=naa.5 reads=5i,writes=7i,read_bytes=512i,"
             "merged_reads=1i,io_await=0.3,io_util=1.5,iops_in_progress=2i")],
            [row("diskio", "h1", "sda", reads=5, writes=7, read_bytes=512, iops_in_progress=2)],
            id="S1 diskio",
        ),
        pytest.param(
            # Of one time and series they are one row, so udev's tags make no other series.
            ["diskio,host=h1,name=sda reads=5i",
             "diskio,host=h1,name=sda,ID_WWN=0x5000c500a1b2c3d4,ID_MODEL=M writes=7i"],
            [row("diskio", "h1", "sda", reads=5, writes=7)],
            id="diskio with tags of udev",
        ),
        pytest.param(
            ["net,host=h1,interface=eth0 bytes_sent=5i,bytes_recv=7i,speed=10000i"],
            [row("net", "h1", "eth0", bytes_sent=5, bytes_recv=7, speed=10000)],
            id="S2 net",
        ),
        pytest.param(
            ["net,host=h1,interface=all icmp_inerrors=1i,tcp_outsegs=50i,tcp_retranssegs=2i"],
            [row("nstat", "h1", "snmp", TcpOutSegs=50, TcpRetransSegs=2)],
            id="S3 net of protocols",
        ),
        pytest.param(
            [("cgroup,host=h1,path=/a io.stat.8:0.rios=1i,io.stat.8:0.cost.wait=900i,"
             "io.stat.8:0.cost.usage=5i,io.stat.8:0.dbytes=4096i")],
            [
                row("cgroup_cost", "h1", "/a", "8:0",
                    discard_bytes=4096, cost_usage=5, cost_wait=900),
                row("cgroup", "h1", "/a", "8:0", rios=1),
            ],
            id="S4 cgroup with iocost",
        ),
        pytest.param(
            [PROXMOX_DISK],
            [
                row("vdisk", "pve1", "qemu/101", "scsi0", reads=1, writes=2, read_time=500000,
                    write_time=700000, flushes=3, flush_time=9),
                row("cgroup", "pve1", "qemu/101", "scsi0", rios=1, wios=2, rbytes=4096,
                    wbytes=8192),
            ],
            id="S5 disk of a guest of Proxmox",
        ),
        pytest.param(
            # The guest got 5 bytes, so the node sent them into the interface.
            [
                ("nics,object=qemu,vmid=101,nodename=pve1,host=db1,instance=tap101i0 "
                "netin=5,netout=7")
            ],
            [row("net", "pve1", "tap101i0", bytes_sent=5, bytes_recv=7)],
            id="S6 interface of a guest of Proxmox",
        ),
        pytest.param([PROXMOX_GUEST], [], id="S7 a guest of Proxmox"),
        pytest.param(
            ["nics,object=nodes,host=pve1,instance=eno1 receive=5,transmit=7"],
            [row("net", "pve1", "eno1", bytes_sent=7, bytes_recv=5)],
            id="S8 interface of a node of Proxmox",
        ),
        pytest.param(
            [
                "system,object=nodes,host=pve1 uptime=123",
                "cpustat,object=nodes,host=pve1 wait=0.25",
            ],
            [row("system", "pve1", "", uptime=123), row("gauge", "pve1", "cpustat", value=0.25)],
            id="S9 a node of Proxmox",
        ),
        pytest.param(
            [('system,object=storages,nodename=pve1,host=nfs-08,type=nfs used=5,total=9,active=1,'
             'content="images"')],
            [
                row("gauge", "pve1", "storage/nfs-08", value=9),
                row("gauge", "pve1", "storage/nfs-08", value=5),
            ],
            id="S10 a storage of Proxmox",
        ),
        pytest.param(
            [('libvirt_block,domain_name=U22,host=h1,block_id=0 name="vda",path="/img/u22.img",'
             "rd_reqs=11i,rd_bytes=33i,rd_times=62i,wr_reqs=52i,wr_bytes=118i,wr_times=21i,"
             "fl_reqs=3i,fl_times=2i,errors=0i,capacity=9i")],
            [
                row("vdisk", "h1", "libvirt/U22", "0", reads=11, writes=52, read_time=62,
                    write_time=21, flushes=3, flush_time=2),
                row("cgroup", "h1", "libvirt/U22", "0", rios=11, wios=52, rbytes=33, wbytes=118),
            ],
            id="S11 disk of libvirt",
        ),
        pytest.param(
            [('libvirt_net,domain_name=U22,host=h1,interface_id=0 name="vnet0",rx_bytes=110i,'
             "rx_pkts=1i,rx_errs=2i,rx_drop=3i,tx_bytes=4i,tx_pkts=5i,tx_errs=6i,tx_drop=7i")],
            [row("net", "h1", "libvirt/U22/0", bytes_sent=110, bytes_recv=4, packets_sent=1,
                 packets_recv=5, drop_in=7, drop_out=3, err_in=6, err_out=2)],
            id="S12 interface of libvirt",
        ),
        pytest.param(
            # 10 reads a second of 2 ms each take 20 ms a second; rates are in thousandths.
            [("vsphere_vm_virtualDisk,vcenter=v,esxhostname=esx1,vmname=db1,moid=vm-35,"
             "disk=scsi0:0 numberReadAveraged_average=10i,numberWriteAveraged_average=4i,"
             "totalReadLatency_average=2i,totalWriteLatency_average=5i,read_average=40i,"
             "write_average=16i,readOIO_latest=1i")],
            [
                row("cgroup", "esx1", "vm/vm-35", "scsi0:0", Form.RATE, rios=10_000, wios=4_000,
                    rbytes=40 * 1024 * 1000, wbytes=16 * 1024 * 1000),
                row("vdisk", "esx1", "vm/vm-35", "scsi0:0", Form.RATE, reads=10_000,
                    writes=4_000, read_time=20_000_000_000, write_time=20_000_000_000),
            ],
            id="S13 virtual disk of vSphere",
        ),
        pytest.param(
            # Real Telegraf sends sums beside the disks and interfaces themselves.
            [("vsphere_vm_virtualDisk,esxhostname=esx1,vmname=db1,moid=vm-35,disk=instance-total "
             "read_average=40i,write_average=16i"),
             ("vsphere_vm_net,esxhostname=esx1,vmname=db1,moid=vm-35,interface=instance-total "
             "bytesRx_average=40i"),
             "vsphere_host_net,esxhostname=esx1,interface=instance-total bytesRx_average=40i",
             "vsphere_host_disk,esxhostname=esx1,disk=instance-total read_average=10i",
             ("vsphere_host_datastore,esxhostname=esx1,dsname=instance-total,lun=instance-total "
             "maxTotalLatency_latest=6i")],
            [],
            id="sums of vSphere",
        ),
        pytest.param(
            [("vsphere_host_datastore,vcenter=v,esxhostname=esx1,dsname=nfs-08,lun=x "
             "datastoreIops_average=7i,sizeNormalizedDatastoreLatency_average=900i,"
             "siocActiveTimePercentage_average=50i,numberReadAveraged_average=10i,"
             "numberWriteAveraged_average=1i,totalReadLatency_average=3i,"
             "totalWriteLatency_average=4i,read_average=2i,write_average=1i")],
            [
                row("gauge", "esx1", "datastore/nfs-08", value=7),
                row("diskio", "esx1", "datastore/nfs-08", "", Form.RATE, reads=10_000,
                    writes=1_000, read_bytes=2 * 1024 * 1000, write_bytes=1024 * 1000,
                    read_time=30_000, write_time=4_000),
                row("gauge", "esx1", "datastore/nfs-08", value=50),
                row("gauge", "esx1", "datastore/nfs-08", value=900),
            ],
            id="S14 datastore of vSphere",
        ),
        pytest.param(
            [("vsphere_host_disk,esxhostname=esx1,disk=naa.6001 numberReadAveraged_average=10i,"
             "deviceReadLatency_average=2i,kernelReadLatency_average=1i,maxQueueDepth_average=64i")],
            [
                row("diskio", "esx1", "naa.6001", "", Form.RATE, reads=10_000, read_time=20_000),
                row("gauge", "esx1", "naa.6001", value=1),
            ],
            id="S14 disk of vSphere",
        ),
        pytest.param(
            ["node_disk_reads_completed_total,instance=kvm1:9100,device=sda counter=5",
             "node_disk_writes_completed_total,instance=kvm1:9100,device=sda counter=6",
             "node_disk_read_time_seconds_total,instance=kvm1:9100,device=sda counter=1.5",
             "node_disk_io_time_weighted_seconds_total,instance=kvm1:9100,device=sda counter=2.25",
             "node_disk_info,instance=kvm1:9100,device=sda,major=8,minor=0,serial=S1 gauge=1"],
            [
                row("diskio", "kvm1", "sda", reads=5, writes=6, read_time=1500,
                    weighted_io_time=2250),
                row("block_device", "kvm1", "sda", major=8, minor=0),
            ],
            id="S15 Prometheus, a measurement each",
        ),
        pytest.param(
            [("prometheus,host=kvm1,url=http://localhost:9100/metrics,device=eth0 "
             "node_network_receive_bytes_total=5,node_network_transmit_bytes_total=7,"
             "node_network_speed_bytes=1250000000,node_network_mtu_bytes=1500")],
            [row("net", "kvm1", "eth0", bytes_sent=7, bytes_recv=5, speed=10_000)],
            id="S15 Prometheus, one measurement",
        ),
        pytest.param(
            ["system.disk.operations,host.name=kvm1,device=sda,direction=read value=5i",
             "system.disk.operation_time,host.name=kvm1,device=sda,direction=read value=0.5",
             "system.disk.io_time,host.name=kvm1,device=sda value=0.25",
             "system.network.io,host.name=kvm1,device=eth0,direction=receive value=9i"],
            [
                row("diskio", "kvm1", "sda", reads=5, read_time=500, io_time=250),
                row("net", "kvm1", "eth0", bytes_recv=9),
            ],
            id="S16 host metrics of OpenTelemetry",
        ),
        pytest.param(
            [
                "proxmox_vm_blockstat_scsi0_rd_operations_total,node=pve1,vmid=101 value=5i",
                "proxmox_vm_blockstat_scsi0_wr_bytes_total,node=pve1,vmid=101,name=db1 value=512i",
                "proxmox_vm_blockstat_scsi0_rd_total_time_ns_total,node=pve1,vmid=101 value=70i",
                "proxmox_vm_blockstat_scsi0_flush_total_time_ns,node=pve1,vmid=101 value=9i",
                "proxmox_vm_mem_used,node=pve1,vmid=101 value=1i",
                "proxmox_node_network_receive_total,proxmox.node=pve1,device=eno1 value=7i",
            ],
            [
                row("cgroup", "pve1", "qemu/101", "scsi0", rios=5, wbytes=512),
                row("vdisk", "pve1", "qemu/101", "scsi0", reads=5, read_time=70, flush_time=9),
                row("net", "pve1", "eno1", bytes_recv=7),
            ],
            id="S17 Proxmox over OpenTelemetry",
        ),
        pytest.param(
            [("nfsstat,host=h1,mountpoint=/a,operation=READ,serverexport=nas:/vol "
             "ops=600i,retrans=1i,bytes=1207i,rtt=606i,exe=607i"),
             ("nfsstat,host=h1,mountpoint=/a,operation=WRITE,serverexport=nas:/vol "
             "ops=700i,retrans=2i,bytes=1407i,rtt=706i,exe=707i"),
             # Mounted twice, with the same numbers.
             ("nfsstat,host=h1,mountpoint=/b,operation=READ,serverexport=nas:/vol "
             "ops=600i,retrans=1i,bytes=1207i,rtt=606i,exe=607i"),
             ("nfs_ops,host=h1,mountpoint=/a,operation=READ,serverexport=nas:/vol "
             "ops=600i,queue_time=5i,bytes_recv=604i"),
             "nfs_ops,host=h1,mountpoint=/a,operation=GETATTR,serverexport=nas:/vol ops=9i",
             "nfs_xprt_tcp,host=h1,mountpoint=/a,serverexport=nas:/vol rpcsends=7i"],
            [
                row("diskio", "h1", "nas:/vol", reads=600, writes=700, read_bytes=1207,
                    write_bytes=1407, read_time=607, write_time=707),
                row("cgroup", "h1", "mount", "nas:/vol", rios=600, wios=700, rbytes=1207,
                    wbytes=1407),
                row("mount", "h1", "nas:/vol", read_rtt=606, write_rtt=706, read_queue=5,
                    read_retransmits=1, write_retransmits=2),
            ],
            id="S18 NFS",
        ),
        pytest.param(
            ["ceph_osd_perf,host=c1,id=3 apply_latency_ms=2.5",
             "zfs_pool,host=z1,pool=tank,health=ONLINE free=6i"],
            [
                row("gauge", "c1", "ceph_osd_perf", value=2.5),
                row("gauge", "z1", "zfs_pool", value=6),
            ],
            id="S19 Ceph and ZFS",
        ),
        pytest.param(
            ["pressure,host=h1,resource=io,type=some total=68i", "cpu,host=h1,cpu=cpu0 usage=1"],
            [row("cgroup_pressure", "h1", "/", some_total=68)],
            id="pressure of a host",
        ),
    ],
)  # fmt: skip
def test_shape_is_kept(lines: list[str], expected: list[Kept]) -> None:
    assert kept(*lines) == expected


# kept() holds that nothing is refused.
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('ceph_osdmap,host=c1 full=false,num_osds=9,state="up"', 9),
        ('zfs_pool,host=c1,pool=tank health="ONLINE",free=6i', 6),
        ("ceph,host=c1 op_latency=-1.5", -1.5),
    ],
)
def test_numbers_beside_texts_and_flags_are_kept_as_gauges(line: str, expected: float) -> None:
    assert [found.values for found in kept(line)] == [(("value", expected),)]


@pytest.mark.parametrize(
    "line",
    [PROXMOX_GUEST, PROXMOX_DISK],
)
def test_a_guest_of_proxmox_is_no_host(line: str) -> None:
    batch = batch_of(line)

    assert {key.host for key in batch.series} <= {"pve1"}
    assert {fact.host for fact in batch.facts} == {"pve1"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            PROXMOX_GUEST,
            {
                ("pve1", "workload", "qemu/101", "name", "db1"),
                ("pve1", "workload", "qemu/101", "vmid", "101"),
                ("pve1", "workload", "qemu/101", "kind", "vm"),
                ("pve1", "workload", "qemu/101", "status", "running"),
            },
        ),
        (
            "nics,object=lxc,vmid=105,nodename=pve1,host=web,instance=veth105i0 netin=5,netout=7",
            {
                ("pve1", "workload", "lxc/105", "name", "web"),
                ("pve1", "workload", "lxc/105", "vmid", "105"),
                ("pve1", "workload", "lxc/105", "kind", "container"),
                ("pve1", "workload", "lxc/105", "nic.veth105i0", "veth105i0"),
            },
        ),
        (
            'libvirt_block,domain_name=U22,host=h1,block_id=0 name="vda",path="/img/u22.img"',
            {
                ("h1", "workload", "libvirt/U22", "name", "U22"),
                ("h1", "workload", "libvirt/U22", "kind", "vm"),
                ("h1", "workload", "libvirt/U22", "disk.0", "/img/u22.img"),
                ("h1", "workload", "libvirt/U22", "target.0", "vda"),
            },
        ),
        (
            "diskio,host=h1,name=sda,serial=S1,wwid=naa.5 reads=5i",
            {("h1", "device", "sda", "serial", "S1"), ("h1", "device", "sda", "wwn", "naa.5")},
        ),
        (
            "smart_device,host=h1,device=sda,model=X,serial_no=S1,wwn=5002 temp_c=40i",
            {
                ("h1", "device", "sda", "serial", "S1"),
                ("h1", "device", "sda", "wwn", "5002"),
                ("h1", "device", "sda", "model", "X"),
            },
        ),
        (
            "vsphere_host_disk,esxhostname=esx1,disk=naa.6001 maxQueueDepth_average=64i",
            {
                ("esx1", "device", "naa.6001", "wwn", "naa.6001"),
                ("esx1", "device", "naa.6001", "queue_depth", "64"),
            },
        ),
        (
            "vsphere_host_disk,esxhostname=esx1,disk=instance-total maxTotalLatency_latest=6i",
            set(),
        ),
        (
            "diskio,host=h1,name=sda,ID_WWN=0x5000c500a1b2c3d4,ID_SERIAL_SHORT=S1 reads=5i",
            {
                ("h1", "device", "sda", "wwn", "0x5000c500a1b2c3d4"),
                ("h1", "device", "sda", "serial", "S1"),
            },
        ),
        # The first 64 bits are those of every LUN of the array.
        (
            "diskio,host=h1,name=sdb,ID_WWN=0x600508b1001c1234 reads=5i",
            set(),
        ),
        (
            (
                "diskio,host=h1,name=sdb1,ID_WWN=0x600508b1001c1234,ID_PART_ENTRY_NUMBER=1,"
                "ID_WWN_WITH_EXTENSION=0x600508b1001c1234567890abcdef0001 reads=5i"
            ),
            {
                ("h1", "device", "sdb1", "wwn", "0x600508b1001c1234567890abcdef0001"),
                ("h1", "device", "sdb1", "layer", "partition"),
            },
        ),
    ],
)
def test_what_it_says_of_things_is_known(
    line: str, expected: set[tuple[str, str, str, str, str]]
) -> None:
    assert said(line) == expected


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("system,object=qemu,vmid=101,host=db1 uptime=7", 'tag "nodename" is missing'),
        ("blockstat,object=qemu,nodename=pve1,host=db1 rd_bytes=7", 'tag "vmid" is missing'),
        ("libvirt_block,host=h1,block_id=0 rd_reqs=1i", 'tag "domain_name" is missing'),
        ("node_disk_read_bytes_total,host=h1 counter=1", 'tag "device" is missing'),
        ("blockstat,host=h1 rd_bytes=7", 'unknown measurement "blockstat"'),
    ],
)
def test_what_cannot_be_kept_says_why(line: str, reason: str) -> None:
    (refused,) = batch_of(line).rejections

    assert refused.reason.startswith(reason)


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("kvm1:9100", "kvm1"),
        ("KVM1.example.com", "KVM1.example.com"),
        ("[fe80::1]:9100", "fe80::1"),
        ("http://kvm1:9100/metrics", "kvm1"),
        ("localhost:9100", "scraper"),
        ("[::1]:9100", "scraper"),
        (":9100", "scraper"),
        # None of these is an address.
        ("[kvm1:9100", "[kvm1"),
        ("[kvm1]:9100", "kvm1"),
        ("\N{ACCOUNT OF}", "\N{ACCOUNT OF}"),
    ],
)
def test_host_of_prometheus_is_the_instance_without_its_port(address: str, host: str) -> None:
    line = f"node_load1,host=scraper,instance={address} gauge=0.5"

    assert [found.host for found in kept(line)] == [host]


ENDINGS = ("x", "vm_virtualDisk", "disk_info", "network_port", "fs_reads_total")
MEASUREMENTS = sorted(
    {
        name.replace("*", ending)
        for source in SOURCES
        for name in source.measurements
        for ending in (ENDINGS if name.endswith("_*") else ("x",))
    }
)
TAGS = (
    "host", "host.name", "name", "device", "instance", "url", "path", "object", "vmid", "nodename",
    "node", "type", "domain_name", "block_id", "esxhostname", "moid", "disk", "lun", "dsname",
    "client", "port", "world", "vm", "direction", "major", "minor", "id", "serverexport",
    "operation", "interface", "output", "volume",
)  # fmt: skip
ODD = st.text(alphabet="[]:/\\.-1\u2100", min_size=1, max_size=4)
FIELDS = ("value", "counter", "reads", "netin", "io.stat.8:0.rios", "path", "read_average")


# Few of the names and texts meet, and a look takes no time.
@settings(max_examples=300)
@given(
    measurement=st.sampled_from(MEASUREMENTS),
    odd=ODD,
    absent=st.sets(st.sampled_from(TAGS), max_size=3),
    kind=st.sampled_from(["qemu", "nodes", "storages", "READ", "some"]),
    field=st.sampled_from(FIELDS) | ODD,
)
def test_odd_tags_are_refused_with_a_reason_or_kept(
    measurement: str, odd: str, absent: set[str], kind: str, field: str
) -> None:
    tags = {**dict.fromkeys(TAGS, odd), **dict.fromkeys(("object", "operation"), kind)}
    given = tuple((tag, tags[tag]) for tag in sorted(tags.keys() - absent))
    point = Point(measurement=measurement, tags=given, fields={field: 1}, time=NOW_NS)

    batch = batch_of_points([point], RULES, find_head)

    assert batch.accepted_lines + batch.ignored_lines + batch.rejected_lines == 1
