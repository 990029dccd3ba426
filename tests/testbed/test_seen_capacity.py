"""The capacity that the service sees by a disk's counters is what fio measures of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from advisor.core.device.seen_capacity import seen_capacity
from advisor.resource_kinds.registry import traits_of
from tests.testbed.programs import kernel_file
from tests.testbed.storage.guest import KERNELS, StorageGuest

pytestmark = [
    pytest.mark.root,
    pytest.mark.guests,
    pytest.mark.slow,
    pytest.mark.timeout(400),
]


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StorageGuest]:
    if shutil.which("fio") is None:
        pytest.skip("no fio (package fio)")
    with StorageGuest(KERNELS[0], tmp_path_factory.mktemp("seen")) as running:
        yield running


# `python -m bench.testbed --parts seen-capacity` has five kinds, on two kernels.
@pytest.mark.parametrize("kind", ["null_blk, 180 IOPS", "SCSI (scsi_debug)"])
def test_capacity_seen_under_load_is_that_of_fio(guest: StorageGuest, kind: str) -> None:
    said = guest.run(
        "tests.testbed.storage.seen_under_load",
        kind=kind,
        modules=str(kernel_file(guest.kernel.name, "disks")),
        windows=4,
        fio_s=4,
    )

    seen = seen_capacity(
        said["iops"], said["latency_ms"], threshold=traits_of("datastore").threshold
    )

    assert seen is not None
    assert seen.value == pytest.approx(said["fio_iops"], rel=0.1)
