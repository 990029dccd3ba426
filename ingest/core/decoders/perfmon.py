r"""Windows' performance monitor as CSV: `typeperf -f CSV`, `relog -f CSV`, data collector sets.

One point per row and object. Measurements are `perfmon_` and the object in snake case; every value
is a float. All have the tag `host`, and `instance` (the text in the parentheses; `_Total` is the
sum of the others). Rates are per second, times are seconds, sizes are bytes.

* perfmon_logicaldisk, further tag `volume` (`C:`), and perfmon_physicaldisk, further tags `disk`
  (its number) and `volumes` (`C: D:`, absent where it has none):
  disk_(reads|writes|transfers)_per_sec, disk_(read_|write_|)bytes_per_sec,
  avg_disk_sec_per_(read|write|transfer), avg_disk_bytes_per_(read|write|transfer),
  avg_disk_(read_|write_|)queue_length, current_disk_queue_length,
  percent_(disk|disk_read|disk_write|idle)_time, percent_free_space, free_megabytes,
  split_io_per_sec;
* perfmon_hyper_v_virtual_storage_device: (read|write)_operations_per_sec,
  (read|write)_bytes_per_sec, (read_|write_|)latency, queue_length, normalized_throughput,
  throughput, error_count, flush_count;
* perfmon_network_interface, perfmon_network_adapter, perfmon_hyper_v_virtual_network_adapter and
  perfmon_hyper_v_virtual_switch: bytes_(received|sent|total)_per_sec,
  packets_(received|sent)_per_sec, packets_(received|outbound)_(discarded|errors),
  output_queue_length, current_bandwidth (bits per second).

Counters that are not in this list come under their names in snake case as well.
"""

import re
from functools import partial

from ingest.core.decoders.pdh_csv import decode_pdh_csv
from ingest.core.decoders.pdh_header import Program, Tags

STORAGE_AND_NETWORK = frozenset(
    {
        "perfmon_logicaldisk",
        "perfmon_physicaldisk",
        "perfmon_hyper_v_virtual_storage_device",
        "perfmon_network_interface",
        "perfmon_network_adapter",
        "perfmon_hyper_v_virtual_network_adapter",
        "perfmon_hyper_v_virtual_switch",
    }
)

_PHYSICAL_DISK = re.compile(r"(?P<disk>[0-9]+)(?: (?P<volumes>.+))?")


def _instance_tags(group: str, instance: str) -> Tags:
    if group == "LogicalDisk":
        return (("volume", instance),)
    disk = _PHYSICAL_DISK.fullmatch(instance) if group == "PhysicalDisk" else None
    return tuple((name, part) for name, part in disk.groupdict().items() if part) if disk else ()


# A rate of the first row is an empty cell, and so it is absent without further ado.
_PERFMON = Program(
    name="perfmon",
    measurements=STORAGE_AND_NETWORK,
    instance_tags=_instance_tags,
    first_row_is_empty=False,
)
decode_perfmon = partial(decode_pdh_csv, program=_PERFMON)
