"""The readings of windows that are given one by one, as simulations and tests have them."""

from collections.abc import Sequence

import numpy as np

from advisor.core.detection.reading import (
    OF_A_HOST,
    OF_A_NIC,
    DatastoreColumns,
    Reading,
    UplinkColumns,
    datastore_readings,
    uplink_readings,
)
from advisor.core.observation import DatastoreObservation, Observation, UplinkObservation


def readings_of(observations: Sequence[Observation]) -> list[Reading]:
    """The reading of each of these windows, which may differ in length."""
    return [_reading(one) for one in observations]


def _reading(one: Observation) -> Reading:
    if isinstance(one, DatastoreObservation):
        (reading,) = datastore_readings([one.at], one.window_s, _datastore_columns(one))
    else:
        (reading,) = uplink_readings([one.at], one.window_s, _uplink_columns(one))
    return reading


def _datastore_columns(one: DatastoreObservation) -> DatastoreColumns:
    return DatastoreColumns(
        hosts=tuple(host.host for host in one.hosts),
        throttled=np.array([[host.throttled for host in one.hosts]], dtype=np.bool_),
        **{
            name: np.array([[getattr(host, name) for host in one.hosts]], dtype=np.float64)
            for name in OF_A_HOST
        },
    )


def _uplink_columns(one: UplinkObservation) -> UplinkColumns:
    rows = one.allocations
    return UplinkColumns(
        workloads=tuple(row.workload for row in rows),
        rate=np.array([[row.rate for row in rows]], dtype=np.float64),
        reservation=np.array([row.reservation for row in rows], dtype=np.float64),
        backlogged=np.array([[row.backlogged for row in rows]], dtype=np.float64),
        throttled=np.array([[row.throttled for row in rows]], dtype=np.bool_),
        **{name: np.array([getattr(one, name)], dtype=np.float64) for name in OF_A_NIC},
    )
