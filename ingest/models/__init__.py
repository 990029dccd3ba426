from ingest.models.host import Host
from ingest.models.organisation import Membership, Organisation, Role
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
from ingest.models.token import Scope, Token

__all__ = [
    "BlockDeviceSample",
    "CgroupPressureSample",
    "CgroupSample",
    "CollectorSample",
    "DiskioSample",
    "Host",
    "Membership",
    "NetSample",
    "NstatSample",
    "Organisation",
    "RejectedLine",
    "Role",
    "Scope",
    "ScsiReservationSample",
    "Series",
    "SystemSample",
    "Token",
]
