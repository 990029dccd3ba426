"""A workload that the policy names: its group is found, and found again after a restart."""

from __future__ import annotations

from typing import Any

from tests.testbed.storage.agent import Wish, agent
from tests.testbed.storage.groups import PARENT, folder, make_groups
from tests.testbed.storage.null_disk import make_disk

DOMAIN = "db"


def run(*, capacity_iops: float, limit_iops: float) -> dict[str, Any]:
    """The group's `io.max` under the first name that libvirt gives it, and under the next.

    `left` is what the second has after the agent went, `beside` that of a group of another name.
    """
    make_disk(iops=capacity_iops)
    (beside,) = make_groups(1)
    first, second = (rf"{PARENT}/machine-qemu\x2d{number}\x2d{DOMAIN}.scope" for number in (1, 2))
    folder(first).mkdir()
    said = []
    with agent() as service:
        wish = Wish(group=first, selector=("libvirt_domain", DOMAIN), limit=limit_iops)
        service.publish(wish, capacity_iops=capacity_iops)
        service.wait_until("applied")
        said.append(_io_max(first))
        folder(first).rmdir()
        folder(second).mkdir()
        service.wait_until("replaced")
        said.append(_io_max(second))
    return {"io_max": said, "left": _io_max(second), "beside": _io_max(beside)}


def _io_max(group: str) -> str:
    return (folder(group) / "io.max").read_text().partition(" ")[2].strip()
