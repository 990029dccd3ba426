"""A disk of scsi_debug that is deleted while the agent enforces a limit on it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.testbed.storage.agent import Wish, agent
from tests.testbed.storage.disk_kinds import scsi_disk
from tests.testbed.storage.groups import counts, folder, make_groups
from tests.testbed.storage.load import Load, running


def run(*, modules: str, limit_iops: float) -> dict[str, Any]:
    """The outcome while the disk was there and after it, and each group's io.max at the end."""
    disk, number = scsi_disk(Path(modules), iops=2000, queue_depth=8)
    (group,) = make_groups(1)
    control = folder(group) / "io.max"
    with agent(device=disk) as service:
        service.publish(Wish(group=group, limit=limit_iops), capacity_iops=2000)
        service.wait_until_enforced()
        there = service.outcomes()
        with running(Load(group=group, disk=Path("/dev") / disk)):
            time.sleep(3)
            before = counts([group], number)
            time.sleep(4)
            iops = counts([group], number).rates(before)[group]
            Path("/sys/block", disk, "device", "delete").write_text("1")
            service.reports.clear()
            service.wait_until_enforced()
            gone = service.outcomes()
    return {"iops": iops, "there": there, "gone": gone, "left": control.read_text()}
