"""What was in flight on devices at single moments, beside the means around them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from advisor.core.detection.queue_burst import DeviceWindows
from advisor.history.layout import columns_of
from advisor.history.measured import read_measured
from advisor.history.subjects import device_subject
from advisor.models import Attachment
from ingest.core.figures import DISK
from ingest.core.grid import NOT_SENT, Grid


def read_device_windows(attachments: Sequence[Attachment], grid: Grid) -> list[DeviceWindows]:
    """Those of each device, in the order given."""
    subjects = [device_subject(one) for one in attachments]
    measured = read_measured({DISK: subjects}, grid)
    columns = columns_of(DISK, subjects, measured.places)
    figures = measured.figures_at(DISK, columns)
    (gauge,) = measured.growth[DISK].chosen(columns).gauges
    in_flight = np.where(gauge == NOT_SENT, np.nan, gauge)
    return [
        DeviceWindows(
            window_s=grid.window_s,
            in_flight=in_flight[:, place],
            outstanding_io=figures.outstanding_io[:, place],
            latency_ms=figures.latency_ms[:, place],
            iops=figures.iops[:, place],
            busy_ratio=figures.utilisation_ratio[:, place],
        )
        for place in range(len(subjects))
    ]
