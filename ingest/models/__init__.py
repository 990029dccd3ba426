from ingest.models.host import Host
from ingest.models.kept_rows import KeptRows
from ingest.models.late_samples import LateSamples
from ingest.models.open_hour import OpenHour
from ingest.models.rejected_line import RejectedLine
from ingest.models.samples import (
    BlockDeviceSample,
    CgroupPressureSample,
    CgroupSample,
    CollectorSample,
    DiskioSample,
    NetSample,
    NstatSample,
    ScsiReservationSample,
    SystemSample,
)
from ingest.models.series import Series

__all__ = [
    "BlockDeviceSample",
    "CgroupPressureSample",
    "CgroupSample",
    "CollectorSample",
    "DiskioSample",
    "Host",
    "KeptRows",
    "LateSamples",
    "NetSample",
    "NstatSample",
    "OpenHour",
    "RejectedLine",
    "ScsiReservationSample",
    "Series",
    "SystemSample",
]
