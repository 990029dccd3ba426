from ingest.models.fact import StatedFact
from ingest.models.host import Host
from ingest.models.host_join import HostJoin
from ingest.models.imported_file import Import, ImportRun, ImportState, UploadedPart
from ingest.models.kept_rows import KeptRows
from ingest.models.late_samples import LateSamples
from ingest.models.open_hour import OpenHour
from ingest.models.quota_hit import QuotaHit
from ingest.models.rejected_line import RejectedLine
from ingest.models.samples import (
    BlockDeviceSample,
    CgroupCostSample,
    CgroupPressureSample,
    CgroupSample,
    CollectorSample,
    DiskioSample,
    GaugeSample,
    MountSample,
    NetSample,
    NstatSample,
    ScsiReservationSample,
    SystemSample,
    VdiskSample,
)
from ingest.models.series import Series
from ingest.models.unknown_measurement import UnknownMeasurement

__all__ = [
    "BlockDeviceSample",
    "CgroupCostSample",
    "CgroupPressureSample",
    "CgroupSample",
    "CollectorSample",
    "DiskioSample",
    "GaugeSample",
    "Host",
    "HostJoin",
    "Import",
    "ImportRun",
    "ImportState",
    "KeptRows",
    "LateSamples",
    "MountSample",
    "NetSample",
    "NstatSample",
    "OpenHour",
    "QuotaHit",
    "RejectedLine",
    "ScsiReservationSample",
    "Series",
    "StatedFact",
    "SystemSample",
    "UnknownMeasurement",
    "UploadedPart",
    "VdiskSample",
]
