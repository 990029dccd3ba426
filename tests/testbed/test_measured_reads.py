"""`sluice-enforcer measure` reads a disk of a real kernel, with the real fio."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.testbed.storage.guest import KERNELS, StorageGuest

pytestmark = [
    pytest.mark.root,
    pytest.mark.guests,
    pytest.mark.slow,
    pytest.mark.timeout(400),
]
IOPS = 2000.0


@pytest.mark.long
def test_random_reads_of_a_quiet_disk_are_measured_within_a_tenth(tmp_path: Path) -> None:
    if shutil.which("fio") is None:
        pytest.skip("no fio (package fio)")
    with StorageGuest(KERNELS[0], tmp_path) as guest:
        said = guest.run("tests.testbed.storage.measured_reads", iops=IOPS)

    assert said["rates"]["rrandiops"] == pytest.approx(IOPS, rel=0.1)
    # Reads alone are a measurement and no model, and nothing is set by itself.
    assert said["model"] is None
    assert said["is_iocost_as_before"] is True
    status, why = said["busy"]
    assert status == 1
    assert "measure at a quiet time" in why
