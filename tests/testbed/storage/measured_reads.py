"""What `sluice-enforcer measure` says of a disk that is quiet, and of one that is at work."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tests.testbed.storage.groups import ROOT, make_groups
from tests.testbed.storage.load import Load, running
from tests.testbed.storage.null_disk import NAME, PLACE, make_disk

_READ_ONCE = (
    "fio", "--name=first", f"--filename={PLACE}", "--readonly", "--rw=randread", "--direct=1",
    "--ioengine=libaio", "--io_size=64k", "--output-format=json",
)  # fmt: skip


def run(*, iops: float) -> dict[str, Any]:
    """The rates of the quiet disk, what was said of the busy one, and if iocost is as before."""
    make_disk(iops=iops)
    (group,) = make_groups(1)
    before = _iocost()
    # While a program's files come from the host time runs off, beyond any limit of time.
    subprocess.run([*_READ_ONCE], check=True, capture_output=True)
    quiet = _measured("--json", "--seconds", "4")
    if quiet.returncode:
        raise RuntimeError(quiet.stderr)
    with running(Load(group=group, disk=PLACE)):
        busy = _measured()
    return {
        "rates": json.loads(quiet.stdout)["rates"],
        "model": json.loads(quiet.stdout)["model"],
        "busy": [busy.returncode, busy.stderr],
        "is_iocost_as_before": _iocost() == before,
    }


def _iocost() -> list[str]:
    return [(ROOT / name).read_text() for name in ("io.cost.model", "io.cost.qos")]


def _measured(*options: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "enforcers", "measure", NAME, *options]
    return subprocess.run(argv, check=False, capture_output=True, text=True)
