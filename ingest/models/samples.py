"""The sample tables: one row per series and time, counters as the host sent them.

The migrations create the tables, because Django cannot express partitions; so these models are
unmanaged. Their columns are the fields of `ingest.core.catalogue`, which also says their units.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import models

from ingest.core import catalogue
from ingest.core.catalogue import FieldKind, Measurement
from ingest.models.series import Series


class Sample(models.Model):
    """What every sample table has: its identity, which makes a repeated write harmless."""

    pk = models.CompositePrimaryKey("series_id", "time")
    # The database holds no constraint: a check per row would halve the rate of ingest. The write
    # locks the series it adds to instead, and this cascade deletes the samples with the series.
    series = models.ForeignKey(
        Series, on_delete=models.CASCADE, db_constraint=False, related_name="+"
    )
    time = models.DateTimeField()

    objects = models.Manager()

    class Meta:
        abstract = True
        managed = False

    def __str__(self) -> str:
        return f"{self.series_id} at {self.time}"


_COLUMNS: Mapping[FieldKind, type[models.Field[Any, Any]]] = {
    FieldKind.COUNTER: models.BigIntegerField,
    FieldKind.WHOLE: models.BigIntegerField,
    FieldKind.NUMBER: models.FloatField,
}


def _model_of(measurement: Measurement, name: str) -> type[Sample]:
    """The model of the sample table of this measurement."""

    class Meta(Sample.Meta):
        abstract = False
        db_table = measurement.table

    columns = {field.name: _COLUMNS[field.kind](null=True) for field in measurement.fields}
    return type(name, (Sample,), {"__module__": __name__, "Meta": Meta, **columns})


DiskioSample = _model_of(catalogue.DISKIO, "DiskioSample")
NetSample = _model_of(catalogue.NET, "NetSample")
CgroupSample = _model_of(catalogue.CGROUP, "CgroupSample")
CgroupPressureSample = _model_of(catalogue.CGROUP_PRESSURE, "CgroupPressureSample")
SystemSample = _model_of(catalogue.SYSTEM, "SystemSample")
ScsiReservationSample = _model_of(catalogue.SCSI_RESERVATION, "ScsiReservationSample")
NstatSample = _model_of(catalogue.NSTAT, "NstatSample")
BlockDeviceSample = _model_of(catalogue.BLOCK_DEVICE, "BlockDeviceSample")
CollectorSample = _model_of(catalogue.COLLECTOR, "CollectorSample")
CgroupCostSample = _model_of(catalogue.CGROUP_COST, "CgroupCostSample")
MountSample = _model_of(catalogue.MOUNT, "MountSample")
VdiskSample = _model_of(catalogue.VDISK, "VdiskSample")
GaugeSample = _model_of(catalogue.GAUGE, "GaugeSample")
