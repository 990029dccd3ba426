"""What the disk really completes when more waits than it can take."""

from __future__ import annotations

import platform
import time
from typing import Any

from tests.testbed.storage.groups import counts, make_groups
from tests.testbed.storage.load import Load, running
from tests.testbed.storage.null_disk import PLACE, make_disk


def run(*, iops: float, groups: int, seconds: float = 4.0) -> dict[str, Any]:
    """IOPS of each of some groups that nobody holds back, and the kernel that they ran on."""
    number = make_disk(iops=iops)
    names = make_groups(groups)
    with running(*(Load(group=name, disk=PLACE) for name in names)):
        time.sleep(1)
        before = counts(names, number)
        time.sleep(seconds)
        rates = counts(names, number).rates(before)
    return {"kernel": platform.release(), "iops": list(rates.values())}
