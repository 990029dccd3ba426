r"""Files like those of `esxtop -b`, whose values are known.

What was real: the counters of a SCSI device (the full list, from the documentation of a monitoring
plugin), of an NFS volume, of virtual disks and of network ports with their instances and the form
of rows (excerpts of captures in public articles and scripts), the names of the groups (public
parsers), the counters of paths. From memory: the counters of an adapter beyond `Adapter Q Depth`
and `Commands/sec`, and the instance of Per-Device-Per-World, of which only the end is public.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

RATES = (
    "Commands/sec",
    "Reads/sec",
    "Writes/sec",
    "MBytes Read/sec",
    "MBytes Written/sec",
)
LATENCIES = tuple(
    f"Average {part} MilliSec/{of}"
    for of in ("Command", "Read", "Write")
    for part in ("Driver", "Kernel", "Guest", "Queue")
)
FAILURES = ("Failed Commands/sec", "Failed Reads/sec", "Failed Writes/sec", "Aborts/sec")
ADAPTER = ("Adapter Q Depth", *RATES, *LATENCIES, *FAILURES, "Resets/sec")
PATH = (*RATES, *LATENCIES, *FAILURES, "Conflicts/sec", "Resets/sec")
DEVICE = (
    "Device Q Depth",
    "World Q Depth",
    "Active Commands",
    "Queued Commands",
    "% Used",
    "Load",
    *RATES,
    *LATENCIES,
    *FAILURES,
    "Failed Bytes Read/sec",
    "Failed Bytes Written/sec",
    "Failed Reserves/sec",
    "Resets/sec",
)
WORLD = ("Active Commands", "Queued Commands", *RATES, *LATENCIES)
NFS_VOLUME = (
    "Active Commands",
    *RATES,
    "Average Guest MilliSec/Command",
    "Average Guest MilliSec/Read",
    "Average Guest MilliSec/Write",
    *FAILURES,
    "Resets/sec",
)
VIRTUAL_DISK = (*RATES, "Average MilliSec/Read", "Average MilliSec/Write")
PORT = (
    "Packets Transmitted/sec",
    "MBits Transmitted/sec",
    "Packets Received/sec",
    "MBits Received/sec",
    "% Outbound Packets Dropped",
    "% Received Packets Dropped",
)
CPU = ("% Used", "% Run", "% System", "% Wait", "% Ready", "% Idle", "% CoStop")


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """What an ESXi host has. `worlds` are processes without storage: nobody maps their columns."""

    devices: int = 2
    volumes: int = 1
    vms: int = 2
    disks: int = 2
    worlds: int = 3


@dataclass(frozen=True, kw_only=True)
class Capture:
    """A header and rows of numbers, in hundredths, in the order of the header."""

    header: list[str]
    times: list[str]
    hundredths: list[list[int]]

    def lines(self) -> Iterator[bytes]:
        yield _line(["(PDH-CSV 4.0) (UTC)(0)", *self.header])
        for time, row in zip(self.times, self.hundredths, strict=True):
            yield _line([time, *(f"{value // 100}.{value % 100:02}" for value in row)])

    def body(self) -> bytes:
        return b"".join(self.lines())


def capture(fleet: Fleet, *, rows: int, seed: int, host: str = "esx01.example.com") -> Capture:
    """Rows five seconds apart from 2012-12-11 20:20:00 on; no value of them is zero."""
    header = [
        rf"\\{host}\{name}\{counter}" for name, counters in _objects(fleet) for counter in counters
    ]
    rng = random.Random(seed)
    return Capture(
        header=header,
        times=[f"12/11/2012 20:{20 + 5 * row // 60:02}:{5 * row % 60:02}" for row in range(rows)],
        hundredths=[[rng.randint(1, 99_999) for _ in header] for _ in range(rows)],
    )


def _objects(fleet: Fleet) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "Memory", ("Memory Overcommit (1 Minute Avg)", "Free MBytes")
    for world in range(fleet.worlds):
        yield f"Group Cpu({28868 + world}:worker-{world})", CPU
        yield f"Vcpu({28868 + world}:worker-{world}:{28900 + world}:vmx)", CPU
    yield "Physical Disk Adapter(vmhba2)", ADAPTER
    for device in range(fleet.devices):
        yield f"Physical Disk Path(vmhba2:C0:T1:L{device})", PATH
    for device in range(fleet.devices):
        name = f"naa.600508b1001c7e{device:08x}"
        yield f"Physical Disk SCSI Device({name})", DEVICE
        yield f"Physical Disk Per-Device-Per-World({name}-{33001 + device})", WORLD
    for volume in range(fleet.volumes):
        yield f"Physical Disk NFS Volume(NFS_{volume})", NFS_VOLUME
    for vm in range(fleet.vms):
        yield f"Virtual Disk(SQL{vm:02} (df09cdf2-1e74))", VIRTUAL_DISK
        for disk in range(fleet.disks):
            yield f"Virtual Disk(SQL{vm:02} (df09cdf2-1e74):scsi0:{disk})", VIRTUAL_DISK
    yield "Network Port(vSwitch0:33554433:vmnic0)", PORT
    for vm in range(fleet.vms):
        yield f"Network Port(vSwitch0:{33554434 + vm}:{36139 + vm}:SQL{vm:02}.eth0)", PORT


def _line(cells: list[str]) -> bytes:
    return (",".join(f'"{cell}"' for cell in cells) + "\n").encode()
