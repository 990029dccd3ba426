r"""esxtop and resxtop in batch mode: `esxtop -b -a -d 5 -n 720 > file.csv`.

One point per row and object. Measurements are `esxtop_` and the group in snake case; every value
is a float. All have the tags `host` and `instance` (the text in the parentheses), and:

| measurement | further tags | an instance |
|---|---|---|
| esxtop_physical_disk_adapter | adapter | `vmhba2` |
| esxtop_physical_disk_path | path, adapter | `vmhba2:C0:T1:L3` |
| esxtop_physical_disk_scsi_device | device | `naa.600508b1001c7e` |
| esxtop_physical_disk_per_device_per_world | device, world | `naa.600508b1001c7e-33001` |
| esxtop_physical_disk_partition | - | `naa.600508b1001c7e:1` |
| esxtop_physical_disk (ESX 3) | - | `vmhba1:0:0` |
| esxtop_physical_disk_nfs_volume | volume | `NFS_Datastore` |
| esxtop_virtual_disk | vm, disk (absent: the total of the VM) | `SQL02:scsi0:1` |
| esxtop_network_port | switch, port, client, world (of VMs) | `vSwitch6:134217730:36139:Krein` |
| esxtop_vsan | - | `Owner` |

Fields are the counters in snake case; rates are per second, latencies milliseconds:
* adapters, paths and devices: adapter_q_depth, device_q_depth, world_q_depth, active_commands,
  queued_commands, percent_used, load, commands_per_sec, reads_per_sec, writes_per_sec,
  mbytes_read_per_sec, mbytes_written_per_sec,
  average_(driver|kernel|guest|queue)_millisec_per_(command|read|write),
  failed_(commands|reads|writes|reserves)_per_sec, failed_(bytes|mbytes)_(read|written)_per_sec,
  conflicts_per_sec, aborts_per_sec, resets_per_sec;
* NFS volumes: active_commands, (commands|reads|writes)_per_sec, mbytes_(read|written)_per_sec,
  average_guest_millisec_per_(command|read|write), failed_..., aborts_per_sec, resets_per_sec;
* virtual disks: commands_per_sec, reads_per_sec, writes_per_sec, mbytes_read_per_sec,
  mbytes_written_per_sec, average_millisec_per_read, average_millisec_per_write;
* ports: packets_(transmitted|received)_per_sec, mbits_(transmitted|received)_per_sec,
  percent_outbound_packets_dropped, percent_received_packets_dropped,
  (multicast|broadcast)_packets_(transmitted|received)_per_sec.

Counters that are not in this list come under their names in snake case as well.
"""

import re
from functools import partial

from ingest.core.decoders.pdh_csv import decode_pdh_csv
from ingest.core.decoders.pdh_header import Program, Tags

STORAGE_AND_NETWORK = frozenset(
    {
        "esxtop_physical_disk",
        "esxtop_physical_disk_adapter",
        "esxtop_physical_disk_nfs_volume",
        "esxtop_physical_disk_partition",
        "esxtop_physical_disk_path",
        "esxtop_physical_disk_per_device_per_world",
        "esxtop_physical_disk_scsi_device",
        "esxtop_virtual_disk",
        "esxtop_network_port",
        "esxtop_vsan",
    }
)

_WORLD = re.compile(r"(?P<device>.+)-(?P<world>[0-9]+)")
_ADAPTER = re.compile(r"[^:]*vmhba[^:]*")
_VIRTUAL_DISK = re.compile(r"(?P<vm>.+):(?P<disk>[a-z]+[0-9]+:[0-9]+)")
_PORT = re.compile(
    r"(?P<switch>[^:]+):(?P<port>[0-9]+):(?:(?P<world>[0-9]+):)?(?P<client>.+)", re.DOTALL
)


def _instance_tags(group: str, instance: str) -> Tags:
    match group:
        case "Physical Disk Adapter":
            return (("adapter", instance),)
        case "Physical Disk Path":
            adapter = _ADAPTER.match(instance)
            return (("path", instance), *([("adapter", adapter[0])] if adapter else []))
        case "Physical Disk SCSI Device":
            return (("device", instance),)
        case "Physical Disk Per-Device-Per-World":
            return _named(_WORLD, instance)
        case "Physical Disk NFS Volume":
            return (("volume", instance),)
        case "Virtual Disk":
            return _named(_VIRTUAL_DISK, instance) or (("vm", instance),)
        case "Network Port":
            return _named(_PORT, instance)
        case _:
            return ()


def _named(pattern: re.Pattern[str], instance: str) -> Tags:
    found = pattern.fullmatch(instance)
    return tuple((name, part) for name, part in found.groupdict().items() if part) if found else ()


_ESXTOP = Program(
    name="esxtop",
    measurements=STORAGE_AND_NETWORK,
    instance_tags=_instance_tags,
    first_row_is_empty=True,
)
decode_esxtop = partial(decode_pdh_csv, program=_ESXTOP)
